/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/jit_home.h"

#include "base/cleanup.h"
#include "base/reopen.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
	/* Its /tmp may be a link: within its root. */
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int root_fd = proc_file_open(pid, "root", O_PATH | O_DIRECTORY);
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
	home.tmp_fd = (int)syscall(SYS_openat2, root_fd, "tmp", &how, sizeof(how));
	if (home.tmp_fd < 0 && (errno == ENOSYS || errno == EPERM))
		home.tmp_fd = openat(root_fd, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (home.tmp_fd < 0)
		return -errno;
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

	snprintf(name, sizeof(name), "perf-%d.map", (int)home->ns_pid);
	path_fd = openat(home->tmp_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0 || fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != home->uid)
		return -EPERM;
	return reopen_for_reading(path_fd);
}
