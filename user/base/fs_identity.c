/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why this is sound:
 * - The kernel checks file access against fsuid, fsgid and the supplementary groups. All three
 *   belong to a thread. glibc's setfsuid and setfsgid are plain system calls; its setgroups tells
 *   all threads of the process, as POSIX wants, so the raw call is used.
 * - Changing fsuid from 0 to another value takes the file capabilities (CAP_DAC_OVERRIDE,
 *   CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_CHOWN, CAP_FSETID, CAP_MKNOD, ...) out of the effective
 *   set, and changing it back returns them: capabilities(7), "Effect of user ID changes". For that
 *   the effective uid must be 0; with any other the capabilities would stay, so that is refused.
 * - The user whose identity it is can neither signal nor ptrace this thread meanwhile: those
 *   checks look at the real, effective and saved uid, which do not change.
 * One side effect stays: the kernel resets the process's "dumpable" flag to fs.suid_dumpable when
 * fsuid changes, which for a root process only decides about core dumps.
 */
#include "base/fs_identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

struct fs_identity {
	bool foreign; /* false: the caller's own, nothing to switch */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups;
	gid_t *saved_groups;
	int n_saved_groups;
};

static int only_group(struct fs_identity *identity)
{
	identity->groups = malloc(sizeof(*identity->groups));
	if (!identity->groups)
		return -ENOMEM;
	identity->groups[0] = identity->gid;
	identity->n_groups = 1;
	return 0;
}

static int groups_of_name(struct fs_identity *identity, const char *name)
{
	int n = 32;

	for (;;) {
		gid_t *groups = reallocarray(identity->groups, (size_t)n, sizeof(*groups));
		int room = n;

		if (!groups)
			return -ENOMEM;
		identity->groups = groups;
		if (getgrouplist(name, identity->gid, groups, &n) >= 0) {
			identity->n_groups = n;
			return 0;
		}
		/* n is now what is needed, or unchanged by name services that do not say. */
		if (n <= room)
			n = room * 2;
	}
}

static int look_up_groups(struct fs_identity *identity)
{
	_cleanup_free_ char *buf = NULL;
	struct passwd pw, *found = NULL;
	size_t size = 1024;
	int r;

	do {
		char *bigger;

		size *= 2;
		bigger = realloc(buf, size);
		if (!bigger)
			return -ENOMEM;
		buf = bigger;
		r = getpwuid_r(identity->uid, &pw, buf, size, &found);
	} while (r == ERANGE && size < SIZE_MAX / 2);
	/* Also when the name service fails: fewer groups are fewer rights. */
	if (r != 0 || !found)
		return only_group(identity);
	return groups_of_name(identity, pw.pw_name);
}

int fs_identity_new(uid_t uid, gid_t gid, struct fs_identity **ret_identity)
{
	_cleanup_(fs_identity_free_p) struct fs_identity *identity = NULL;
	int r;

	identity = calloc(1, sizeof(*identity));
	if (!identity)
		return -ENOMEM;
	if (uid != (uid_t)-1 && uid != geteuid()) {
		if (geteuid() != 0)
			return -EPERM;
		if (gid == (gid_t)-1)
			return -EINVAL;
		identity->foreign = true;
		identity->uid = uid;
		identity->gid = gid;
		r = look_up_groups(identity);
		if (r < 0)
			return r;
	}
	*ret_identity = TAKE_PTR(identity);
	return 0;
}

void fs_identity_free(struct fs_identity *identity)
{
	if (!identity)
		return;
	free(identity->groups);
	free(identity->saved_groups);
	free(identity);
}

static int set_thread_groups(const gid_t *groups, int n)
{
	return syscall(SYS_setgroups, n, groups) < 0 ? -errno : 0;
}

static int save_groups(struct fs_identity *identity)
{
	int n = getgroups(0, NULL);
	gid_t *groups;

	if (n < 0)
		return -errno;
	groups = calloc((size_t)n + 1, sizeof(*groups)); /* never of size 0, which may give NULL */
	if (!groups)
		return -ENOMEM;
	n = getgroups(n, groups);
	if (n < 0) {
		int r = -errno;

		free(groups);
		return r;
	}
	identity->saved_groups = groups;
	identity->n_saved_groups = n;
	return 0;
}

int fs_identity_enter(struct fs_identity *identity)
{
	int r;

	if (!identity->foreign)
		return 0;
	r = save_groups(identity);
	if (r < 0)
		return r;
	r = set_thread_groups(identity->groups, identity->n_groups);
	if (r < 0) {
		free(TAKE_PTR(identity->saved_groups));
		return r;
	}
	/* These two report no error; an invalid id changes nothing and returns the current one. */
	(void)setfsgid(identity->gid);
	(void)setfsuid(identity->uid);
	if ((gid_t)setfsgid((gid_t)-1) != identity->gid ||
	    (uid_t)setfsuid((uid_t)-1) != identity->uid) {
		(void)fs_identity_leave(identity); /* -EPERM says enough */
		return -EPERM;
	}
	return 0;
}

int fs_identity_leave(struct fs_identity *identity)
{
	int r;

	if (!identity->foreign)
		return 0;
	(void)setfsuid(geteuid()); /* to one's own effective ids: always permitted */
	(void)setfsgid(getegid());
	r = set_thread_groups(identity->saved_groups, identity->n_saved_groups);
	free(TAKE_PTR(identity->saved_groups));
	return r;
}
