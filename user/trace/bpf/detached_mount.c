/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/detached_mount.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CAP_SYS_ADMIN, where it is permitted; *ret_had: it is effective anyway. 0 or negative errno. */
static int set_admin(bool is_set, bool *ret_had)
{
	const cap_value_t admin = CAP_SYS_ADMIN;
	cap_flag_value_t effective = CAP_CLEAR;
	cap_t now = cap_get_proc();
	int r = 0;

	if (!now)
		return -errno;
	if (cap_get_flag(now, admin, CAP_EFFECTIVE, &effective) ||
	    cap_set_flag(now, CAP_EFFECTIVE, 1, &admin, is_set ? CAP_SET : CAP_CLEAR) ||
	    ((effective == CAP_SET) != is_set && cap_set_proc(now)))
		r = -errno;
	if (ret_had)
		*ret_had = effective == CAP_SET;
	(void)cap_free(now); /* cannot fail: it is a capability set */
	return r;
}

/* fsopen(2), fsconfig(2) and fsmount(2) have no wrappers in this libc. */
static int mount_detached(const char *type)
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

int detached_mount(const char *type)
{
	bool had = true;
	int r = set_admin(true, &had), fd;

	if (r < 0)
		return r;
	fd = mount_detached(type);
	if (!had)
		(void)set_admin(false, NULL); /* what was there before may be had again */
	return fd;
}
