/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/preload_process.h"

#include "base/cleanup.h"
#include "base/file_system.h"
#include "target/file_open.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE "LD_PRELOAD="
/* As much as the kernel lets a new image have (MAX_ARG_STRLEN times a lot): more is none. */
#define MOST_BYTES ((size_t)6 << 20)
#define PROC_TEXT_MAX 4096

/* --- can it be opened? ------------------------------------------------------------------------ */

static bool has_our(pid_t pid, const char *name, const char *ours)
{
	_cleanup_close_ int fd = proc_file_open(pid, name, O_PATH);
	_cleanup_close_ int our_fd = open(ours, O_PATH | O_CLOEXEC);

	return fd >= 0 && our_fd >= 0 && file_is_same(fd, our_fd);
}

/* In another root, no file system is searched that another user may serve. */
static bool is_in_root(pid_t pid, const char *library, int library_fd)
{
	_cleanup_close_ int root_fd = -1, fd = -1;

	if (has_our(pid, "root", "/") && has_our(pid, "ns/mnt", "/proc/self/ns/mnt"))
		return true;
	root_fd = proc_file_open(pid, "root", O_PATH | O_DIRECTORY);
	fd = root_fd < 0 ? root_fd : root_find(root_fd, pid, library, FILE_SYSTEM_LOCAL);
	return fd >= 0 && file_is_same(fd, library_fd);
}

static bool allows(const struct stat *st, const struct process_info *user, mode_t bit)
{
	if (st->st_uid == user->uid)
		return st->st_mode & bit << 6;
	return st->st_mode & (st->st_gid == user->gid ? bit << 3 : bit);
}

/* As our root has it, where the file is the same. */
static bool may_read(const struct process_info *user, const char *library)
{
	char folder[PATH_MAX];
	struct stat st;

	if (user->uid == 0)
		return true;
	if (strlen(library) >= sizeof(folder) || stat(library, &st) < 0 ||
	    !allows(&st, user, S_IROTH))
		return false;
	strcpy(folder, library);
	for (char *slash; (slash = strrchr(folder, '/'));) {
		*slash = '\0';
		if (stat(*folder ? folder : "/", &st) < 0 || !allows(&st, user, S_IXOTH))
			return false;
	}
	return true;
}

bool preload_is_usable(pid_t pid, const char *library, int library_fd)
{
	struct process_info info;

	return process_info_read(pid, &info) == 0 && !info.seccomp && may_read(&info, library) &&
	       is_in_root(pid, library, library_fd);
}

/* --- taking it out ---------------------------------------------------------------------------- */

bool preload_drop(char *value, const char *library)
{
	size_t len = strlen(library);

	/* Between what ld.so takes for separators. */
	for (char *at = value; *at; at += strcspn(at, ": ")) {
		at += strspn(at, ": ");
		if (strcspn(at, ": ") != len || strncmp(at, library, len) != 0)
			continue;
		len += at[len] != '\0';
		memmove(at, at + len, strlen(at + len) + 1);
		return true;
	}
	return false;
}

/* Where its environment is (proc_pid_stat(5): env_start, env_end). */
static int find_environment(pid_t pid, uint64_t *ret_start, uint64_t *ret_end)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = proc_file_read(pid, "stat", PROC_TEXT_MAX, &text);
	const char *at = r < 0 ? NULL : strrchr(strbuf_str(&text), ')');

	if (r < 0)
		return r;
	for (int field = 2; at && field < 50; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at || sscanf(at, "%" SCNu64 " %" SCNu64, ret_start, ret_end) != 2)
		return -EBADMSG;
	return *ret_end < *ret_start || *ret_end - *ret_start > MOST_BYTES ? -EFBIG : 0;
}

/* The variable at `word`, which ends before `end`, is at `addr` in the process. */
static int withdraw_from(int mem_fd, uint64_t addr, char *word, const char *library)
{
	char *value = word + sizeof(VARIABLE) - 1;
	size_t len = strlen(value), left;
	/* Sanitizers read /proc/PID/environ as far as the first empty string. */
	static const char filler[] = "MEMTRACED=";

	if (strncmp(word, VARIABLE, sizeof(VARIABLE) - 1) != 0 || !preload_drop(value, library))
		return 0;
	left = strlen(value);
	memset(value + left + 1, '-', len - left - 1);
	memcpy(value + left + 1, filler,
	       len - left > sizeof(filler) ? sizeof(filler) - 1 : len - left - 1);
	if (pwrite(mem_fd, value, len, (off_t)(addr + sizeof(VARIABLE) - 1)) != (ssize_t)len)
		return -EIO;
	return 1;
}

int preload_withdraw(pid_t pid, const char *library)
{
	_cleanup_close_ int fd = proc_file_open(pid, "mem", O_RDWR);
	_cleanup_free_ char *text = NULL;
	uint64_t start, end;
	int r = fd < 0 ? fd : find_environment(pid, &start, &end);
	size_t len;

	if (r < 0)
		return r;
	len = (size_t)(end - start);
	text = calloc(len + 1, 1);
	if (!text)
		return -ENOMEM;
	if (pread(fd, text, len, (off_t)start) != (ssize_t)len)
		return -EIO;
	for (char *word = text; r == 0 && word < text + len; word += strlen(word) + 1)
		r = withdraw_from(fd, start + (uint64_t)(word - text), word, library);
	return r;
}
