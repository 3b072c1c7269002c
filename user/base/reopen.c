/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/reopen.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int reopen_for_reading(int path_fd)
{
	char link[32];
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd); /* fits */
	fd = open(link, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int open_regular(const char *path)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? reopen_for_reading(path_fd) : -EINVAL;
}
