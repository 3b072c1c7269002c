/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What JSON says of a process but for its sites and its timeline, which writers shape. For writers.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_PROCESS_H
#define MEMTRACED_REPORT_JSON_JSON_PROCESS_H

#include "report/json/json_out.h"
#include "report/view/view.h"

/* Members without a brace: who it is, and its totals. */
void json_process_head(struct json_out *out, const struct view *view,
		       const struct view_process *process);

/*
 * The member "notes", where there are any: what is not seen of such a program, and what helps.
 * `image` NULL: of all processes.
 */
void json_add_notes(struct json_out *out, struct json_object *to, const struct view *view,
		    const struct model_process *image);

/* Members without a brace: leaks, wrong uses of the heap, what is in memory. */
void json_process_findings(struct json_out *out, const struct view *view,
			   const struct view_process *process);

/* Writes the array of those that ended long ago, summed by what they ran. */
void json_ended(struct json_out *out, const struct view *view);

/* "exact", "sampled", "growth". */
const char *json_depth_name(enum record_depth depth);

#endif
