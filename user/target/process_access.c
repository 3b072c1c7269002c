/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/process_access.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "target/file_helper.h"
#include "target/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* As process.c's PROC_TEXT_MAX: up to 65,536 supplementary groups are listed. */
#define STATUS_MAX (1U << 20)

static bool parse_four(const char *status, const char *key, unsigned int ids[4])
{
	const char *line = strstr(status, key);

	return line &&
	       sscanf(line + strlen(key), "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4;
}

int process_ids_parse(const char *status, struct process_ids *ret_ids)
{
	const char *caps = strstr(status, "\nCapPrm:");
	struct process_ids ids;

	if (!parse_four(status, "\nUid:", ids.uids) || !parse_four(status, "\nGid:", ids.gids) ||
	    !caps || sscanf(caps, "\nCapPrm: %" SCNx64, &ids.permitted) != 1)
		return -EBADMSG;
	*ret_ids = ids;
	return 0;
}

bool process_ids_are(const struct process_ids *ids, uid_t uid, gid_t gid)
{
	if (uid == (uid_t)-1 || gid == (gid_t)-1)
		return false;
	for (int i = 0; i < 4; i++)
		if (ids->uids[i] != uid || ids->gids[i] != gid)
			return false;
	return true;
}

/* What others may not read of a process that is not dumpable is root's: proc(5). */
static bool is_dumpable(pid_t pid, uid_t uid)
{
	struct stat st;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid); /* fits */
	return stat(path, &st) == 0 && st.st_uid == uid;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Of a namespace below `ours`; the kernel nests them 33 deep at most. */
static bool owns_namespace(int fd, uid_t uid, const struct stat *ours)
{
	_cleanup_close_ int parent = ioctl(fd, NS_GET_PARENT);
	struct stat st;
	uid_t owner;

	if (parent < 0 || fstat(parent, &st) < 0)
		return false;
	if (is_same_file(&st, ours))
		return ioctl(fd, NS_GET_OWNER_UID, &owner) == 0 && owner == uid;
	return owns_namespace(parent, uid, ours);
}

/* 0, -EACCES, or another negative errno when it cannot be told now. */
static int check_capabilities(pid_t pid, uid_t uid, uint64_t permitted)
{
	_cleanup_close_ int fd = file_helper_open_proc(pid, "ns/user", O_RDONLY);
	struct stat st, ours;

	if (fd < 0)
		return fd == -ENOENT ? -EACCES : fd;
	if (fstat(fd, &st) < 0 || stat("/proc/self/ns/user", &ours) < 0)
		return -errno;
	return (is_same_file(&st, &ours) ? permitted == 0 : owns_namespace(fd, uid, &ours)) ?
		       0 :
		       -EACCES;
}

int process_access_check(pid_t pid, uid_t uid, gid_t gid)
{
	_cleanup_strbuf_ struct strbuf status = {};
	struct process_ids ids;
	int r;

	pid = proc_living_thread(pid);
	r = proc_file_read(pid, "status", STATUS_MAX, &status);

	if (r == 0)
		r = process_ids_parse(strbuf_str(&status), &ids);
	if (r < 0)
		return r;
	return process_ids_are(&ids, uid, gid) && is_dumpable(pid, uid) ?
		       check_capabilities(pid, uid, ids.permitted) :
		       -EACCES;
}
