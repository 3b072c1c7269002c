/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a cgroup's path says of where a process belongs: systemd's units, containers, Kubernetes'
 * pods. By the names that systemd (CGROUP_DELEGATION.md), runc, containerd, Docker, CRI-O, Podman
 * and the kubelet with either cgroup driver give. Pure functions, but for cgroup_place_of_process.
 */
#ifndef MEMTRACED_TARGET_CGROUP_PLACE_H
#define MEMTRACED_TARGET_CGROUP_PLACE_H

#include "base/strbuf.h"

#include <sys/types.h>

#define CGROUP_NAME_LEN 256 /* NAME_MAX and a zero byte */

/* What it does not say is "". */
struct cgroup_place {
	char slice[CGROUP_NAME_LEN];	 /* the innermost that holds the unit: "system.slice" */
	char unit[CGROUP_NAME_LEN];	 /* of the system's manager: "nginx.service" */
	char user_unit[CGROUP_NAME_LEN]; /* of a user's own manager, below "user@1000.service" */
	char container[CGROUP_NAME_LEN]; /* an id of 64 hex digits, or the name of LXC's */
	const char *runtime;		 /* "docker", "containerd", "cri-o", "podman", "lxc" */
	char pod[CGROUP_NAME_LEN];	 /* a pod's uid, as the API server has it */
};

/* Of nested containers the innermost counts. */
void cgroup_place_find(const char *path, struct cgroup_place *ret_place);

/*
 * Appends the path that names the place best, from the text of /proc/PID/cgroup: version 2's, else
 * that of systemd's own hierarchy, else that of memory. 0; -ENOENT: there is none of these; or
 * -ENOMEM.
 */
int cgroup_place_path(const char *text, struct strbuf *path);

/* The same of a process, with its place. 0 or negative errno. */
int cgroup_place_of_process(pid_t pid, struct strbuf *path, struct cgroup_place *ret_place);

#endif
