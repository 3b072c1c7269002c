/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_stacks.h"

#include "base/interns.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { HAS_ADDR = 1, HAS_OFFSET = 2, IS_INLINE = 4 };

struct function_key {
	uint32_t name, file, object; /* strings, or INTERNS_NONE */
};

struct frame_key {
	uint64_t addr, offset;
	uint32_t function, line; /* line 0: unknown */
	uint32_t flags, padding;
};

struct node_key {
	uint32_t frame, caller; /* a node, or INTERNS_NONE */
};

/* The frames of a place, which most stacks have met before. */
struct known_place {
	size_t first, n; /* in place_frames */
};

struct json_stacks {
	struct interns strings, functions, frames, nodes;
	struct interns places;	       /* by their addresses */
	VEC(struct known_place) known; /* of the places */
	VEC(uint32_t) place_frames;
};

struct json_stacks *json_stacks_get(struct json_out *out)
{
	if (!out->stacks)
		out->stacks = calloc(1, sizeof(*out->stacks));
	if (!out->stacks)
		out->error = -ENOMEM;
	return out->stacks;
}

void json_stacks_done(struct json_out *out)
{
	struct json_stacks *stacks = out->stacks;

	if (!stacks)
		return;
	interns_done(&stacks->strings);
	interns_done(&stacks->functions);
	interns_done(&stacks->frames);
	interns_done(&stacks->nodes);
	interns_done(&stacks->places);
	vec_done(&stacks->known);
	vec_done(&stacks->place_frames);
	free(stacks);
	out->stacks = NULL;
}

int json_stacks_add_frame(struct json_stacks *stacks, const struct json_frame *frame,
			  uint32_t *ret_number)
{
	struct frame_key key = {
		.addr = frame->has_addr ? frame->addr : 0,
		.offset = frame->has_offset ? frame->offset : 0,
		.line = frame->line,
		.flags = (frame->has_addr ? HAS_ADDR : 0) | (frame->has_offset ? HAS_OFFSET : 0) |
			 (frame->is_inline ? IS_INLINE : 0),
	};
	struct function_key function;
	int r = interns_number_string(&stacks->strings, frame->function, &function.name);

	if (r == 0)
		r = interns_number_string(&stacks->strings, frame->file, &function.file);
	if (r == 0)
		r = interns_number_string(&stacks->strings, frame->object, &function.object);
	if (r == 0)
		r = interns_number(&stacks->functions, &function, sizeof(function), &key.function);
	return r < 0 ? r : interns_number(&stacks->frames, &key, sizeof(key), ret_number);
}

static int add_view_frame(struct json_stacks *stacks, const struct view_frame *from)
{
	const struct json_frame frame = {
		.function = from->function,
		.file = from->file,
		.object = from->place->object,
		.has_addr = from->place->has_addr,
		.has_offset = from->has_offset,
		.is_inline = from->is_inline,
		.addr = from->place->addr,
		.offset = from->offset,
		.line = from->line,
	};
	uint32_t number;
	int r = json_stacks_add_frame(stacks, &frame, &number);

	return r < 0 ? r : vec_push(&stacks->place_frames, number);
}

/* *ret_known: until the next one. 0 or -ENOMEM. */
static int find_place(struct json_stacks *stacks, const struct view_place *place,
		      const struct known_place **ret_known)
{
	const struct view_stack stack = { .n_places = 1, .places = &place };
	struct view_frames frames = { .stack = &stack };
	size_t index, first = stacks->place_frames.len;
	struct view_frame frame;
	int r = interns_add(&stacks->places, &place, sizeof(place), &index);

	if (r == 1) {
		r = 0;
		while (r == 0 && view_frames_next(&frames, &frame))
			r = add_view_frame(stacks, &frame);
		if (r == 0)
			r = vec_push(&stacks->known,
				     (struct known_place){ first,
							   stacks->place_frames.len - first });
	}
	if (r == 0)
		*ret_known = &stacks->known.data[index];
	return r;
}

/* Calls of `frames`, innermost first, by the stack *caller, which becomes the innermost one. */
static int add_calls(struct json_stacks *stacks, const uint32_t *frames, size_t n, uint32_t *caller)
{
	int r = 0;

	for (size_t i = n; r == 0 && i > 0; i--) {
		const struct node_key key = { .frame = frames[i - 1], .caller = *caller };

		r = interns_number(&stacks->nodes, &key, sizeof(key), caller);
	}
	return r;
}

static int add_stack(struct json_stacks *stacks, const struct view_stack *stack,
		     int64_t *ret_number)
{
	uint32_t node = INTERNS_NONE;
	int r = 0;

	for (size_t i = stack->n_places; r == 0 && i > 0; i--) {
		const struct known_place *known;

		r = find_place(stacks, view_stack_place(stack, i - 1), &known);
		if (r == 0)
			r = add_calls(stacks, &stacks->place_frames.data[known->first], known->n,
				      &node);
	}
	*ret_number = node == INTERNS_NONE ? -1 : (int64_t)node;
	return r;
}

int json_stacks_add_numbers(struct json_stacks *stacks, const uint32_t *frames, size_t n,
			    int64_t *ret_number)
{
	uint32_t node = INTERNS_NONE;
	int r = add_calls(stacks, frames, n, &node);

	*ret_number = node == INTERNS_NONE ? -1 : (int64_t)node;
	return r;
}

void json_add_stack(struct json_out *out, struct json_object *to, const char *key, bool known,
		    const struct view_stack *stack)
{
	struct json_stacks *stacks = known ? json_stacks_get(out) : NULL;
	int64_t number = -1;
	int r = stacks ? add_stack(stacks, stack, &number) : 0;

	if (r < 0)
		out->error = r;
	json_out_known(out, to, key, number >= 0, (uint64_t)number);
}

void json_add_name_frame(struct json_out *out, struct json_object *to,
			 const struct view_stack *stack)
{
	json_out_known(out, to, "name_frame", stack->n_places > 0, view_stack_name_index(stack));
}

static const char *string(const struct json_stacks *stacks, uint32_t number)
{
	return number == INTERNS_NONE ? NULL : interns_get(&stacks->strings, number);
}

static void put_function(const struct json_stacks *stacks, size_t i, struct json_out *out)
{
	const struct function_key *function = interns_get(&stacks->functions, i);
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "function", string(stacks, function->name));
	json_out_string(out, json, "file", string(stacks, function->file));
	json_out_string(out, json, "object", string(stacks, function->object));
	json_out_put(out, json);
}

static void put_frame(const struct json_stacks *stacks, size_t i, struct json_out *out)
{
	const struct frame_key *frame = interns_get(&stacks->frames, i);
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "function", frame->function);
	json_out_address(out, json, "addr", frame->flags & HAS_ADDR, frame->addr);
	json_out_known(out, json, "offset", frame->flags & HAS_OFFSET, frame->offset);
	json_out_known(out, json, "line", frame->line > 0, frame->line);
	json_out_bool(out, json, "inline", frame->flags & IS_INLINE);
	json_out_put(out, json);
}

static void put_node(const struct json_stacks *stacks, size_t i, struct json_out *out)
{
	const struct node_key *node = interns_get(&stacks->nodes, i);

	if (node->caller == INTERNS_NONE)
		fprintf(out->file, "[%" PRIu32 ",null]", node->frame);
	else
		fprintf(out->file, "[%" PRIu32 ",%" PRIu32 "]", node->frame, node->caller);
}

static void put_table(const struct json_stacks *stacks, const char *name,
		      const struct interns *table,
		      void (*put)(const struct json_stacks *stacks, size_t i, struct json_out *out),
		      struct json_out *out)
{
	fprintf(out->file, "\"%s\":[", name);
	for (size_t i = 0; table && i < interns_count(table); i++) {
		if (i > 0)
			fputc(',', out->file);
		put(stacks, i, out);
	}
	fputc(']', out->file);
}

void json_stacks_put(struct json_out *out)
{
	const struct json_stacks *stacks = out->stacks;

	put_table(stacks, "functions", stacks ? &stacks->functions : NULL, put_function, out);
	fputc(',', out->file);
	put_table(stacks, "frames", stacks ? &stacks->frames : NULL, put_frame, out);
	fputc(',', out->file);
	put_table(stacks, "stacks", stacks ? &stacks->nodes : NULL, put_node, out);
}
