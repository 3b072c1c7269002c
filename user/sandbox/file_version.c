/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/file_version.h"

#include <errno.h>
#include <sys/stat.h>

int file_version_read(int fd, struct file_version *ret_version)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_version = (struct file_version){ st.st_dev, st.st_ino, st.st_ctim };
	return 0;
}

bool file_version_equal(const struct file_version *a, const struct file_version *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}
