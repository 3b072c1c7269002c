/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/proc_file.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_BEGIN 256 /* name, umask and state */

/* By what nobody can make us wait for: stat is shown when an exec is over. */
static bool has_ended(pid_t pid, const char *tid)
{
	static const char key[] = "\nState:\t";
	char path[64], text[STATUS_BEGIN] = "";
	_cleanup_close_ int fd = -1;
	const char *state;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)pid, tid); /* fits */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Another error is ours: of it nothing is known. */
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return errno == ENOENT || errno == ESRCH;
	state = strstr(text, key);
	return state && strchr("ZX", state[sizeof(key) - 1]);
}

bool proc_thread_has_ended(pid_t tid)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%d", (int)tid); /* fits */
	return has_ended(tid, name);
}

pid_t proc_living_thread(pid_t pid)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	char path[32];

	if (!proc_thread_has_ended(pid))
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

int proc_link_read(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text)
{
	char path[64], target[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = readlink(path, target, sizeof(target));
	if (n < 0)
		return -errno;
	if ((size_t)n == sizeof(target) || (size_t)n > max_bytes)
		return -EFBIG;
	strbuf_add(text, target, (size_t)n);
	return strbuf_error(text);
}

int proc_kallsyms_read(size_t max_bytes, struct strbuf *text)
{
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : strbuf_read(text, fd, max_bytes);
}
