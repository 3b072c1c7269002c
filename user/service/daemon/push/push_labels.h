/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tells one process's profiles from another's on a server: host, unit, container, pod and the
 * like, and what the configuration adds.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_LABELS_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_LABELS_H

#include "base/vec.h"
#include "config/push_targets.h"
#include "target/cgroup_place.h"

#include <stdbool.h>

/* The process as it is known; texts are borrowed, "" or NULL is not known. */
struct push_process {
	pid_t pid;
	const char *comm, *exe, *host;
	const char *cgroup;
	const struct cgroup_place *place;
	const char *depth; /* "sampled": another trace may have all of its calls */
};

struct push_labels_row {
	const char *name;      /* as Prometheus has names */
	const char *attribute; /* by OpenTelemetry's conventions, where there is one */
	char *value;
	bool is_number; /* as an attribute */
};

struct push_labels {
	VEC(struct push_labels_row) rows; /* the first is the service's name */
};

/* Pure. Names of the configuration's labels are borrowed. 0 or -ENOMEM; push_labels_done anyway. */
int push_labels_make(const struct push_process *process, const struct push_target *target,
		     struct push_labels *labels);
void push_labels_done(struct push_labels *labels);

#endif
