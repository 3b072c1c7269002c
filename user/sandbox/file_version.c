/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/file_version.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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
