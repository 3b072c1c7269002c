/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/tracefs.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

static int mounted(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &st))
		return -errno;
	if (st.f_type != TRACEFS_MAGIC)
		return -ENOENT;
	return TAKE_FD(fd);
}

/* fsopen(2) and fsmount(2): Linux 5.2. */
static int mount_detached(void)
{
	_cleanup_close_ int fs_fd = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (fs_fd < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	fd = syscall(SYS_fsmount, fs_fd, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int tracefs_open(void)
{
	static const char *const paths[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = mounted(paths[i]);

		if (fd >= 0)
			return fd;
	}
	return mount_detached();
}

int tracefs_event_id(int tracefs_fd, const char *category, const char *name, uint32_t *ret_id)
{
	_cleanup_close_ int fd = -1;
	char path[256], text[32];
	unsigned long id;
	ssize_t n;
	char *end;

	if (snprintf(path, sizeof(path), "events/%s/%s/id", category, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	id = strtoul(text, &end, 10);
	if (end == text || id > UINT32_MAX)
		return -EBADMSG;
	*ret_id = id;
	return 0;
}
