/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/proc_file.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BEGIN 128 /* id, name and state */

static bool has_ended(pid_t pid, const char *tid)
{
	char path[64], text[STAT_BEGIN] = "";
	_cleanup_close_ int fd = -1;
	const char *name_end;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, tid); /* fits */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return true;
	name_end = strrchr(text, ')');
	return !name_end || name_end[1] == '\0' || strchr("ZX", name_end[2]);
}

pid_t proc_living_thread(pid_t pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	char path[32];

	(void)snprintf(path, sizeof(path), "%d", (int)pid); /* fits */
	if (!has_ended(pid, path))
		return pid;
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid); /* fits */
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !has_ended(pid, entry->d_name))
			return (pid_t)strtol(entry->d_name, NULL, 10);
	return pid;
}

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
