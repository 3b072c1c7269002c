/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the JSON of diffs: diff_json.c has what is of allocations, diff_json_jobs.c events
 * and histograms.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_JSON_H
#define MEMTRACED_REPORT_DIFF_DIFF_JSON_H

#include "report/diff/diff.h"
#include "report/json/json_out.h"

/* Names as they are matched; lines only where one place is meant. NULL without memory. */
struct json_object *diff_json_frames(struct json_out *out, const struct view_stack *stack,
				     bool one_place);

/* The members "histograms" and "events". */
void diff_json_jobs(struct json_out *out, const struct diff *diff);

#endif
