/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks in the JSON of diffs: names as they are matched, without addresses.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_JSON_STACK_H
#define MEMTRACED_REPORT_DIFF_DIFF_JSON_STACK_H

#include "report/json/json_out.h"

/* Adds "stack_id" (json_add_stack); lines only where `one_place` is meant. */
void diff_json_stack(struct json_out *out, struct json_object *to, const struct view_stack *stack,
		     bool one_place);

#endif
