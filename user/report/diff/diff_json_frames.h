/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a place in the JSON of diffs. */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_JSON_FRAMES_H
#define MEMTRACED_REPORT_DIFF_DIFF_JSON_FRAMES_H

#include "report/json/json_out.h"
#include "report/view/view.h"

/* Names as they are matched; lines only where one place is meant. NULL without memory. */
struct json_object *diff_json_frames(struct json_out *out, const struct view_stack *stack,
				     bool one_place);

#endif
