/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/jit_home.h"

#include "base/cleanup.h"
#include "base/file_system.h"
#include "target/file_helper.h"
#include "target/file_open.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_STATUS_BYTES (64 << 10)

/* "NSpid:\t4242\t7": the last is the innermost namespace's. Older kernels have no such line. */
static int read_ns_pid(pid_t pid, pid_t *ret_ns_pid)
{
	_cleanup_strbuf_ struct strbuf text = {};
	const char *line, *end;
	int r = proc_file_read(pid, "status", MAX_STATUS_BYTES, &text);

	if (r < 0)
		return r;
	*ret_ns_pid = pid;
	line = strstr(strbuf_str(&text), "\nNSpid:");
	if (!line)
		return 0;
	line++;
	end = strchrnul(line, '\n');
	while (end > line && end[-1] >= '0' && end[-1] <= '9')
		end--;
	*ret_ns_pid = (pid_t)strtol(end, NULL, 10);
	return 0;
}

int jit_home_open(pid_t pid, struct jit_home *ret_home)
{
	_cleanup_close_ int root_fd = file_helper_open_proc(pid, "root", O_PATH | O_DIRECTORY);
	struct jit_home home = { .tmp_fd = -1 };
	struct process_info info;
	int r;

	if (root_fd < 0)
		return root_fd == -ENOENT ? -ESRCH : root_fd;
	r = read_ns_pid(pid, &home.ns_pid);
	if (r == 0)
		r = process_info_read(pid, &info);
	if (r < 0)
		return r;
	home.uid = info.uid;
	home.pid = pid;
	/* Its /tmp may be a link: within its root. */
	home.tmp_fd = root_find(root_fd, pid, "tmp", FILE_SYSTEM_LOCAL);
	if (home.tmp_fd < 0)
		return home.tmp_fd;
	/* The map's name is looked up there, again and again. */
	if (file_system_of_fd(home.tmp_fd, pid) != FILE_SYSTEM_LOCAL) {
		jit_home_done(&home);
		return -EREMOTE;
	}
	*ret_home = home;
	return 0;
}

void jit_home_done(struct jit_home *home)
{
	if (home->tmp_fd >= 0)
		close(home->tmp_fd);
	home->tmp_fd = -1;
}

int jit_home_open_map(const struct jit_home *home)
{
	_cleanup_close_ int path_fd = -1;
	struct stat st;
	char name[32];
	int r;

	snprintf(name, sizeof(name), "perf-%d.map", (int)home->ns_pid);
	path_fd = openat(home->tmp_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	r = file_status(path_fd, &st);
	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode) || st.st_uid != home->uid)
		return -EPERM;
	/* Of the process nothing may be left that says what is mounted. */
	if (file_system_is_same_mount(path_fd, home->tmp_fd))
		return open_place(path_fd);
	return reopen_for_reading(path_fd, home->pid, FILE_SYSTEM_LOCAL);
}
