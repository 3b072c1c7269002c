/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the JSON report that are about jobs that count, each an array.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_COUNTS_H
#define MEMTRACED_REPORT_JSON_JSON_COUNTS_H

#include "report/json/json_out.h"
#include "report/view/view.h"

/* Count, buckets and errors of a group; NULL without memory. */
struct json_object *json_counts_group(struct json_out *out, const struct view_group *group);

void json_histograms(struct json_out *out, const struct view *view);
void json_events(struct json_out *out, const struct view *view);
/* By process. */
void json_syscalls(struct json_out *out, const struct view *view);

#endif
