/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What cgroups say of memory: use, limit and pressure, of version 2 or of version 1's memory
 * controller, below a folder that may be anywhere. Files by cgroup-v2.rst, cgroup-v1/memory.rst
 * and psi.rst of the kernel's documentation. One thread.
 */
#ifndef MEMTRACED_TARGET_CGROUP_MEMORY_H
#define MEMTRACED_TARGET_CGROUP_MEMORY_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_NO_LIMIT UINT64_MAX
#define CGROUP_NO_PRESSURE UINT32_MAX

struct cgroup_memory {
	uint64_t current_bytes;
	uint64_t max_bytes; /* its own; CGROUP_NO_LIMIT */
	/*
	 * "some avg10", in hundredths of a percent; CGROUP_NO_PRESSURE: not known, as always of
	 * version 1 but at the root, where it is the host's.
	 */
	uint32_t pressure;
};

/*
 * Where cgroups' memory is, from the text of /proc/self/mounts: version 2 where `has_memory` says
 * that this root has the controller, else version 1's. Appends the path, nothing if there is none.
 */
void cgroup_root_find(const char *mounts, bool (*has_memory)(const char *path),
		      struct strbuf *path);
/* The same of this system. 0 or negative errno; -ENOENT: there is none. */
int cgroup_root_of_host(struct strbuf *path);

/* 1 or 2; -ENOENT: the folder is no root of either; or negative errno. */
int cgroup_root_version(const char *root);

/*
 * Appends the paths of all cgroups to `names`, each behind a zero byte, parents first, "/" being
 * the root; of these at most `most`. Their number, *ret_left_out more; or negative errno.
 */
ssize_t cgroup_list(const char *root, size_t most, struct strbuf *names, size_t *ret_left_out);

/*
 * 0 or negative errno: -ENOENT when it was removed. The root of version 2 knows no use of memory
 * (0) nor a limit.
 */
int cgroup_memory_read(const char *root, int version, const char *name,
		       struct cgroup_memory *ret_memory);

/* Its use alone: a third of the work. 0 or negative errno, as for version 2's root. */
int cgroup_memory_current(const char *root, int version, const char *name, uint64_t *ret_bytes);

/* Appends the path of the process's cgroup, as cgroup_list names it. 0 or negative errno. */
int cgroup_of_process(pid_t pid, int version, struct strbuf *name);

/*
 * How many processes the OOM killer has killed in the process's cgroup and below, since that was
 * made; of version 2 also for one that has ended, until it is waited for. 0 or negative errno:
 * -ENOENT where the kernel does not count (version 1 before Linux 4.13), or it is in the root,
 * where version 1 says that all are who end; -ESRCH: it is gone.
 */
int cgroup_oom_kills_around(pid_t pid, uint64_t *ret_kills);

/* The parsers of the above. 0 or -EBADMSG. */
int cgroup_parse_bytes(const char *text, uint64_t *ret_bytes);
int cgroup_parse_pressure(const char *text, uint32_t *ret_pressure);
/* Of memory.events, or version 1's memory.oom_control; -ENOENT: it does not say. */
int cgroup_parse_oom_kills(const char *text, uint64_t *ret_kills);
/* Of /proc/PID/cgroup; -ENOENT: it says nothing of that version's memory. */
int cgroup_parse_membership(const char *text, int version, struct strbuf *name);

#endif
