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
	/* A lease's holder has fs.lease-break-time to let others in: open() would wait for it. */
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return fd;
}

int open_regular(const char *path)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? reopen_for_reading(path_fd) : -EINVAL;
}
