/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Series over time in JSON: a process's timeline, a site's live bytes at its points.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_SERIES_H
#define MEMTRACED_REPORT_JSON_JSON_SERIES_H

#include "report/json/json_out.h"
#include "report/view/view.h"

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

#endif
