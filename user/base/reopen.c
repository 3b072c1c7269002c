/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/reopen.h"

#include "base/cleanup.h"
#include "base/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int open_place(int path_fd)
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

int reopen_for_reading(int path_fd, pid_t pid)
{
	struct stat st;
	int r = file_status(path_fd, &st);

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	switch (file_system_of_fd(path_fd, pid)) {
	case FILE_SYSTEM_LOCAL:
	case FILE_SYSTEM_SERVER:
		return open_place(path_fd);
	case FILE_SYSTEM_LAYERS:
	case FILE_SYSTEM_FOREIGN:
		break;
	}
	return -EREMOTE;
}

int open_regular(const char *path)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);

	return path_fd < 0 ? -errno : reopen_for_reading(path_fd, 0);
}

int reopen_own(const char *path)
{
	int number, end = 0, fd;

	if (sscanf(path, "/proc/self/fd/%d%n", &number, &end) != 1 || path[end])
		return open_regular(path);
	fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}
