/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/process_list.h"

#include "base/cleanup.h"
#include "target/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Deeper than any tree of cgroups that is meant well, and than open files should go. */
#define CGROUP_DEPTH 64

int process_list_host(pid_vec *ret_pids)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir)
		return -errno;
	while (errno = 0, entry = readdir(dir)) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		int r;

		if (*end || pid <= 0 || pid > INT_MAX)
			continue;
		r = vec_push(ret_pids, (pid_t)pid);
		if (r)
			return r;
	}
	return -errno;
}

/* A cgroup of threads alone refuses to be read (EOPNOTSUPP): its processes are in one above. */
static int read_members(int folder_fd, pid_vec *pids)
{
	_cleanup_fclose_ FILE *file = NULL;
	int fd = openat(folder_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid, r = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* removed meanwhile */
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && fscanf(file, "%d", &pid) == 1)
		r = pid > 0 ? vec_push(pids, pid) : 0; /* 0: of a namespace beside ours */
	return r;
}

static int list_below(int folder_fd, unsigned int depth, pid_vec *pids)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = read_members(folder_fd, pids);

	if (fd < 0)
		return errno == ENOENT ? r : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (entry = readdir(dir))) {
		_cleanup_close_ int below = -1;

		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		if (depth == 0)
			return -ELOOP;
		below = openat(folder_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below >= 0)
			r = list_below(below, depth - 1, pids);
		else if (errno != ENOENT) /* else it was removed meanwhile */
			r = -errno;
	}
	return r;
}

int process_list_cgroup(int folder_fd, pid_vec *ret_pids)
{
	return list_below(folder_fd, CGROUP_DEPTH, ret_pids);
}

static int add_children(const pid_vec *host, const pid_vec *parents, pid_t of, pid_t except,
			pid_vec *pids)
{
	int r = 0;

	for (size_t i = 0; i < host->len && r == 0; i++)
		if (parents->data[i] == of && host->data[i] != except)
			r = vec_push(pids, host->data[i]);
	return r;
}

int process_list_descendants(pid_t pid, pid_t except, pid_vec *ret_pids)
{
	_cleanup_(pid_vec_done) pid_vec host = {}, parents = {};
	int r = process_list_host(&host);

	for (size_t i = 0; i < host.len && r == 0; i++) {
		struct process_info info = {};

		r = process_status_read(host.data[i], &info);
		/* Gone, or (hidepid) none of ours to look at. */
		if (r == 0 || r == -ESRCH || r == -EACCES || r == -EPERM)
			r = vec_push(&parents, info.zombie ? 0 : info.ppid);
	}
	if (r == 0)
		r = add_children(&host, &parents, pid, except, ret_pids);
	for (size_t i = 0; i < ret_pids->len && r == 0; i++)
		r = add_children(&host, &parents, ret_pids->data[i], except, ret_pids);
	return r;
}

/* With another architecture's code they have files that are not probed: those are left out. */
bool translator_is(const char *exe)
{
	static const char *const patterns[] = {
#ifdef __x86_64__
		"*/valgrind/*-amd64-linux", "*/qemu-x86_64", "*/qemu-x86_64-*",
#else
		"*/valgrind/*-arm64-linux", "*/qemu-aarch64", "*/qemu-aarch64-*",
#endif
		"*/libdynamorio.so*",	    "*/pinbin",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (fnmatch(patterns[i], exe, 0) == 0)
			return true;
	return false;
}

/* Or is gone, or the kernel's, or none that we may look at. Else its helper has not told. */
static bool has_told(int error)
{
	return error == 0 || error == -ESRCH || error == -ENOENT || error == -ENAMETOOLONG ||
	       error == -EACCES || error == -EPERM;
}

int translator_find(char **ret_exe)
{
	pid_vec pids = {};
	bool is_known = true;
	int r = process_list_host(&pids);

	*ret_exe = NULL;
	for (size_t i = 0; i < pids.len && r == 0 && !*ret_exe; i++) {
		_cleanup_free_ char *exe = NULL;

		r = process_exe(pids.data[i], &exe);
		if (r == 0 && translator_is(exe))
			*ret_exe = TAKE_PTR(exe);
		is_known &= has_told(r);
		if (r != -ENOMEM)
			r = 0;
	}
	vec_done(&pids);
	return r == 0 && !*ret_exe && !is_known ? -ETIMEDOUT : r;
}
