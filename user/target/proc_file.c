/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/proc_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

int proc_file_open(pid_t pid, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int proc_file_read(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text)
{
	_cleanup_close_ int fd = proc_file_open(pid, name, O_RDONLY);

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	return strbuf_read(text, fd, max_bytes);
}

int proc_kallsyms_read(size_t max_bytes, struct strbuf *text)
{
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : strbuf_read(text, fd, max_bytes);
}
