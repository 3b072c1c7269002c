/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Members of a site in JSON, and those that processes have as well, their course over time among
 * them. For writers.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_SITE_H
#define MEMTRACED_REPORT_JSON_JSON_SITE_H

#include "analyze/reach.h"
#include "report/json/json_out.h"
#include "report/view/view.h"

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
