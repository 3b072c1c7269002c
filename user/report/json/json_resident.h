/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a process is in memory, as JSON.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_RESIDENT_H
#define MEMTRACED_REPORT_JSON_JSON_RESIDENT_H

#include "report/json/json_out.h"
#include "report/view/view.h"

/* The process's "rss": an object, or null when nobody looked. */
void json_resident(struct json_out *out, const struct view *view,
		   const struct view_process *process);

#endif
