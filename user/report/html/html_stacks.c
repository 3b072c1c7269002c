/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/html/html_stacks.h"

#include "symbol/function_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* html_data.js has the same. */
enum { FRAME_INLINE = 1, FRAME_KERNEL = 2, FRAME_MARK = 4 };

struct frame_key {
	uint64_t offset; /* in the object's file, of code whose function is not known */
	uint32_t function, file, line, object;
	uint32_t flags, padding;
};

struct node_key {
	uint32_t caller, frame;
};

void html_stacks_done(struct html_stacks *stacks)
{
	interns_done(&stacks->strings);
	interns_done(&stacks->frames);
	interns_done(&stacks->nodes);
	sample_frames_done(&stacks->list);
}

static int add_frame(struct html_stacks *stacks, const struct sample_frame *from,
		     uint32_t *ret_number)
{
	const struct view_frame *frame = &from->frame;
	struct frame_key key = { .file = INTERNS_NONE, .object = INTERNS_NONE };
	int r;

	key.flags = from->is_kernel ? FRAME_KERNEL : 0;
	if (from->mark) {
		key.flags |= FRAME_MARK;
		r = interns_number_string(&stacks->strings, from->mark, &key.function);
	} else {
		key.flags |= frame->is_inline ? FRAME_INLINE : 0;
		key.line = frame->line;
		key.offset = frame->function ? 0 : frame->offset;
		r = interns_number_string(&stacks->strings, frame->function, &key.function);
		if (r == 0)
			r = interns_number_string(&stacks->strings, frame->file, &key.file);
		if (r == 0)
			r = interns_number_string(&stacks->strings, frame->place->object,
						  &key.object);
	}
	return r < 0 ? r : interns_number(&stacks->frames, &key, sizeof(key), ret_number);
}

static int64_t number(uint32_t index)
{
	return index == INTERNS_NONE ? -1 : (int64_t)index;
}

int html_stacks_add(struct html_stacks *stacks, const struct view_stack *stack, int64_t *ret_node)
{
	struct node_key key = { .caller = INTERNS_NONE };
	int r = sample_frames_fill(&stacks->list, stack);

	for (size_t i = stacks->list.list.len; r == 0 && i > 0; i--) {
		r = add_frame(stacks, &stacks->list.list.data[i - 1], &key.frame);
		if (r == 0)
			r = interns_number(&stacks->nodes, &key, sizeof(key), &key.caller);
	}
	*ret_node = number(key.caller);
	return r;
}

/* The function's short name, among the strings; INTERNS_NONE: it is the function. */
static int add_short_name(struct html_stacks *stacks, const struct frame_key *frame,
			  uint32_t *ret_number)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	const char *function;

	*ret_number = INTERNS_NONE;
	if (frame->function == INTERNS_NONE || (frame->flags & FRAME_MARK))
		return 0;
	function = interns_get(&stacks->strings, frame->function);
	function_name_short(function, &name);
	if (strbuf_error(&name) < 0 || strcmp(strbuf_str(&name), function) == 0)
		return strbuf_error(&name);
	return interns_number_string(&stacks->strings, strbuf_str(&name), ret_number);
}

int html_stacks_put(struct html_stacks *stacks, struct json_out *out)
{
	FILE *file = out->file;
	uint32_t short_name;
	int r = 0;

	fputs("\"nodes\":[", file);
	for (size_t i = 0; i < interns_count(&stacks->nodes); i++) {
		const struct node_key *node = interns_get(&stacks->nodes, i);

		fprintf(file, "%s%" PRId64 ",%" PRIu32, i ? "," : "", number(node->caller),
			node->frame);
	}
	fputs("],\n\"frames\":[", file);
	for (size_t i = 0; r == 0 && i < interns_count(&stacks->frames); i++) {
		const struct frame_key *frame = interns_get(&stacks->frames, i);

		r = add_short_name(stacks, frame, &short_name);
		fprintf(file,
			"%s[%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRId64 ",%" PRIu64 ",%" PRIu32
			",%" PRId64 "]",
			i ? "," : "", number(frame->function), number(frame->file), frame->line,
			number(frame->object), frame->offset, frame->flags, number(short_name));
	}
	fputs("],\n\"strings\":[", file);
	for (size_t i = 0; i < interns_count(&stacks->strings); i++) {
		if (i > 0)
			fputs(",\n", file);
		json_out_put(out, json_out_new_string(out, interns_get(&stacks->strings, i)));
	}
	fputc(']', file);
	return r;
}
