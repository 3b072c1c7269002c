/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a JSON report as tables that its other parts refer to by number: functions, frames
 * in them, and stacks as a tree, where a stack is a frame and the stack of its caller. A run has
 * some thousand frames in very many stacks, most of which share their outer ends.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_STACKS_H
#define MEMTRACED_REPORT_JSON_JSON_STACKS_H

#include "report/json/json_out.h"

struct json_stacks;

struct json_frame {
	const char *function, *file, *object; /* NULL: unknown */
	bool has_addr, has_offset, is_inline;
	uint64_t addr, offset;
	uint32_t line; /* 0: unknown */
};

/* Adds the stack's number as a member; null: it has no frames, or `known` is false. */
void json_add_stack(struct json_out *out, struct json_object *to, const char *key, bool known,
		    const struct view_stack *stack);
/* Adds "name_frame": the number of frames before the one that the stack is named by. */
void json_add_name_frame(struct json_out *out, struct json_object *to,
			 const struct view_stack *stack);

/* The tables of the output, made when there are none; NULL: no memory. */
struct json_stacks *json_stacks_get(struct json_out *out);
/* Frees them. */
void json_stacks_done(struct json_out *out);

/*
 * Of frames that are not a view's: their numbers, and that of a stack of `n` of them, innermost
 * first; -1: of none. 0 or -ENOMEM.
 */
int json_stacks_add_frame(struct json_stacks *stacks, const struct json_frame *frame,
			  uint32_t *ret_number);
int json_stacks_add_numbers(struct json_stacks *stacks, const uint32_t *frames, size_t n,
			    int64_t *ret_number);

/* Writes "functions":[...],"frames":[...],"stacks":[...]. */
void json_stacks_put(struct json_out *out);

#endif
