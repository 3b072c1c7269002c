/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_json_stack.h"

#include "base/vec.h"
#include "report/diff/diff_names.h"
#include "report/json/json_stacks.h"

#include <errno.h>

static int add_frame(struct json_stacks *stacks, const struct view_frame *from, bool one_place,
		     uint32_t *ret_number)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	struct json_frame frame = {
		.file = from->file,
		.object = from->place->object,
		.is_inline = from->is_inline,
		.line = one_place ? from->line : 0,
	};

	if (from->function) {
		diff_function_name(from->function, &name);
		frame.function = strbuf_str(&name);
	}
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	return json_stacks_add_frame(stacks, &frame, ret_number);
}

void diff_json_stack(struct json_out *out, struct json_object *to, const struct view_stack *stack,
		     bool one_place)
{
	struct json_stacks *stacks = json_stacks_get(out);
	struct view_frames it = { .stack = stack };
	VEC(uint32_t) numbers = { 0 };
	struct view_frame frame;
	int64_t number = -1;
	int r = stacks ? 0 : -ENOMEM;

	while (r == 0 && view_frames_next(&it, &frame)) {
		uint32_t of_frame;

		r = add_frame(stacks, &frame, one_place, &of_frame);
		if (r == 0)
			r = vec_push(&numbers, of_frame);
	}
	if (r == 0)
		r = json_stacks_add_numbers(stacks, numbers.data, numbers.len, &number);
	if (r < 0)
		out->error = r;
	json_out_known(out, to, "stack_id", number >= 0, (uint64_t)number);
	vec_done(&numbers);
}
