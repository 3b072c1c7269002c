/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/reopen.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
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

/*
 * What a file of an overlay is made of: where its extents can be asked for, it is of a file system
 * with a block device, as FUSE, NFS and 9p have none. The overlay asks the file below.
 */
static bool is_on_device(int fd)
{
	struct fiemap map = { .fm_length = 1 };

	return ioctl(fd, FS_IOC_FIEMAP, &map) == 0;
}

int reopen_for_reading(int path_fd, pid_t pid, enum file_system most)
{
	enum file_system system;
	struct stat st;
	int r = file_status(path_fd, &st), fd;

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	system = file_system_of_fd(path_fd, pid);
	r = file_system_check(system, most);
	fd = r < 0 ? r : open_place(path_fd);
	if (fd >= 0 && system == FILE_SYSTEM_LAYERS && !is_on_device(fd)) {
		close(fd);
		return -EREMOTE;
	}
	return fd;
}

int open_regular(const char *path)
{
	_cleanup_close_ int path_fd = open(path, O_PATH | O_CLOEXEC);

	return path_fd < 0 ? -errno : reopen_for_reading(path_fd, 0, FILE_SYSTEM_SERVER);
}

int reopen_own(const char *path)
{
	int number, end = 0, fd;

	if (sscanf(path, "/proc/self/fd/%d%n", &number, &end) != 1 || path[end])
		return open_regular(path);
	fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}
