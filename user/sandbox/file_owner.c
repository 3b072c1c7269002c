/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/file_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* linux/stat.h, which sys/stat.h does not get along with everywhere */
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

/* As it is known: a file system that is asked (FUSE, NFS) may not answer. */
static int owner_at(int dirfd, const char *path, int flags, struct file_owner *ret_owner)
{
	struct statx st;

	if (statx(dirfd, path, flags | AT_STATX_DONT_SYNC,
		  STATX_UID | STATX_GID | STATX_MODE | STATX_MNT_ID, &st) < 0)
		return -errno;
	*ret_owner = (struct file_owner){
		.mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.uid = st.stx_uid,
		.gid = st.stx_mode & S_IWGRP ? st.stx_gid : 0,
		.is_group = st.stx_mode & S_IWGRP,
		.is_anybody = st.stx_mode & S_IWOTH,
	};
	return 0;
}

int file_owner_read(int fd, struct file_owner *ret_owner)
{
	return owner_at(fd, "", AT_EMPTY_PATH, ret_owner);
}

int file_owner_read_own(struct file_owner *ret_owner)
{
	return owner_at(AT_FDCWD, "/proc/self/exe", 0, ret_owner);
}

bool file_owner_equal(const struct file_owner *a, const struct file_owner *b)
{
	return a->mount == b->mount && a->dev == b->dev && a->uid == b->uid && a->gid == b->gid &&
	       a->is_group == b->is_group && a->is_anybody == b->is_anybody;
}

/* As it is known since the file was opened: a file system that is asked may not answer. */
int file_version_read(int fd, struct file_version *ret_version)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_CTIME, &st) < 0)
		return -errno;
	*ret_version = (struct file_version){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
		.changed = { st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec },
	};
	return 0;
}

bool file_version_equal(const struct file_version *a, const struct file_version *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}
