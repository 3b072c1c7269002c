/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/detached_mount.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* fsopen(2), fsconfig(2) and fsmount(2) have no wrappers in this libc. */
int detached_mount(const char *type)
{
	_cleanup_close_ int fs_fd = syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (fs_fd < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	fd = syscall(SYS_fsmount, fs_fd, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}
