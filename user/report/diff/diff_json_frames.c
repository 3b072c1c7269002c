/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff_json_frames.h"

#include "report/diff/diff_names.h"

#include <errno.h>

static struct json_object *frame_json(struct json_out *out, const struct view_frame *frame,
				      bool one_place)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	if (frame->function)
		diff_function_name(frame->function, &name);
	if (strbuf_error(&name) < 0)
		out->error = strbuf_error(&name);
	json_out_string(out, json, "function", frame->function ? strbuf_str(&name) : NULL);
	json_out_string(out, json, "file", frame->file);
	json_out_known(out, json, "line", one_place && frame->line > 0, frame->line);
	json_out_string(out, json, "object", frame->place->object);
	json_out_bool(out, json, "inline", frame->is_inline);
	return json;
}

struct json_object *diff_json_frames(struct json_out *out, const struct view_stack *stack,
				     bool one_place)
{
	struct view_frames it = { .stack = stack };
	struct json_object *array = json_object_new_array();
	struct view_frame frame;

	while (array && view_frames_next(&it, &frame)) {
		struct json_object *json = frame_json(out, &frame, one_place);

		if (!json || json_object_array_add(array, json) < 0) {
			json_object_put(json);
			out->error = -ENOMEM;
		}
	}
	return array;
}
