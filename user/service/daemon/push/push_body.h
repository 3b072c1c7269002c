/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests as each kind of server takes them, by their published interfaces, and what their answers
 * mean: Pyroscope's POST /ingest, Parca's POST /profiles/writeraw (the gRPC gateway's JSON of
 * WriteRaw), OTLP/HTTP's POST /v1development/profiles. Pure functions.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_BODY_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_BODY_H

#include "base/vec.h"
#include "config/push_targets.h"
#include "report/profile_part.h"
#include "service/daemon/push/push_queue.h"
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

/*
 * What tells one process's profiles from another's on a server: host, unit, container, pod and the
 * like, and what the configuration adds.
 */
struct push_labels {
	VEC(struct push_labels_row) rows; /* the first is the service's name */
};

/* Pure. Names of the configuration's labels are borrowed. 0 or -ENOMEM; push_labels_done anyway. */
int push_labels_make(const struct push_process *process, const struct push_target *target,
		     struct push_labels *labels);
void push_labels_done(struct push_labels *labels);

/*
 * The request with this profile. 1; 0: there is nothing to send; -ENOMEM or -EIO.
 */
int push_body_make(enum push_to to, const struct view *view, const struct profile_part *part,
		   const struct push_labels *labels, struct push_item **ret_item);

/* Headers that say what the body is; ends with NULL. */
const char *const *push_body_headers(enum push_to to);

/*
 * What an answer with this status means. *why is what a server says of a rejection, cleaned and
 * cut; -ENOMEM sticks to it.
 */
enum push_result push_answer_read(enum push_to to, long status, const struct strbuf *answer,
				  struct strbuf *why);

#endif
