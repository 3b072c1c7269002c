/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of JSON reports, of one run and of two (diff), that writers put together. */
#ifndef MEMTRACED_REPORT_JSON_JSON_PARTS_H
#define MEMTRACED_REPORT_JSON_JSON_PARTS_H

#include "analyze/reach.h"
#include "report/json/json_out.h"
#include "report/view/view.h"

/* --- json_counts.c: jobs that count, each an array -------------------------------------------- */

/* Count, buckets and errors of a group; NULL without memory. */
struct json_object *json_counts_group(struct json_out *out, const struct view_group *group);

void json_histograms(struct json_out *out, const struct view *view);
void json_events(struct json_out *out, const struct view *view);
/* By process. */
void json_syscalls(struct json_out *out, const struct view *view);

/* --- json_coverage.c: a whole run: when it was, how much of it was seen, what was not --------- */

/* Writes the first members of the report, without a brace. */
void json_head(struct json_out *out, const struct view *view);

/* The same without the version of the format: who recorded it, and when. */
void json_run(struct json_out *out, const struct view *view);

/* Writes the object. */
void json_coverage(struct json_out *out, const struct view *view);

/* --- json_process.c: a process but for its sites and its timeline, which writers shape -------- */

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

/* --- json_site.c: a site, and what processes have as well, their course over time ------------- */

/*
 * "estimate": how far figures can be off, null where they are no estimates. Frees and what the
 * process has shown are known of processes alone.
 */
void json_add_estimate(struct json_out *out, struct json_object *json,
		       const struct view_estimate *estimate, bool of_process);

/* The member "frees", null of what has none: regions. Only where it was asked for. */
void json_add_frees(struct json_out *out, struct json_object *to, bool known,
		    const struct view_frees *frees);

/* Writes the object, or null. */
void json_timeline(struct json_out *out, const struct view *view,
		   const struct view_process *process);

/* "series": an array with a number for each point, null where it is not known; or null. */
void json_add_series(struct json_out *out, struct json_object *to,
		     const struct view_process *process, const struct view_site *site);

/* "growth": an object or null. */
void json_add_growth(struct json_out *out, struct json_object *to, bool known,
		     const struct growth *growth);
/* Writes the member of a process, after a comma. */
void json_growth(struct json_out *out, const struct view_process *process);

/* "definite"; NULL for REACH_CLASSES. */
const char *json_leak_class(enum reach_class class);

#endif
