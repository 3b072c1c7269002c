/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_stacks.h"

#include "base/hashmap.h"
#include "base/interns.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { HAS_ADDR = 1, HAS_OFFSET = 2, IS_INLINE = 4 };

struct function_key {
	uint32_t name, file, object; /* strings, or NONE */
};

struct frame_key {
	uint64_t addr, offset;
	uint32_t function, line; /* line 0: unknown */
	uint32_t flags, padding;
};

struct node_key {
	uint32_t frame, caller; /* a node, or NONE */
};

/* The frames of a place, which most stacks have met before. */
struct known_place {
	const struct view_place *place;
	size_t first, n; /* in place_frames */
};

struct json_stacks {
	struct interns *strings, *functions, *frames, *nodes;
	struct hashmap *places;
	VEC(uint32_t) place_frames;
};

DEFINE_HASHMAP_OPS(place_ops, struct known_place, place, free);

static void stacks_free(struct json_stacks *stacks)
{
	if (!stacks)
		return;
	interns_free(stacks->strings);
	interns_free(stacks->functions);
	interns_free(stacks->frames);
	interns_free(stacks->nodes);
	hashmap_free(stacks->places);
	vec_done(&stacks->place_frames);
	free(stacks);
}

DEFINE_CLEANUP(struct json_stacks, stacks_free)

static int stacks_new(struct json_stacks **ret_stacks)
{
	_cleanup_(stacks_free_p) struct json_stacks *stacks = calloc(1, sizeof(*stacks));
	int r;

	if (!stacks)
		return -ENOMEM;
	r = interns_new(&stacks->strings);
	if (r == 0)
		r = interns_new(&stacks->functions);
	if (r == 0)
		r = interns_new(&stacks->frames);
	if (r == 0)
		r = interns_new(&stacks->nodes);
	if (r == 0)
		r = hashmap_new(&place_ops, &stacks->places);
	if (r < 0)
		return r;
	*ret_stacks = TAKE_PTR(stacks);
	return 0;
}

struct json_stacks *json_stacks_get(struct json_out *out)
{
	int r = out->stacks ? 0 : stacks_new(&out->stacks);

	if (r < 0)
		out->error = r;
	return out->stacks;
}

void json_stacks_done(struct json_out *out)
{
	stacks_free(out->stacks);
	out->stacks = NULL;
}

static int add(struct interns *interns, const void *data, size_t len, uint32_t *ret_number)
{
	size_t index;
	int r = interns_add(interns, data, len, &index);

	if (r < 0)
		return r;
	if (index >= NONE)
		return -ENOMEM;
	*ret_number = (uint32_t)index;
	return 0;
}

static int add_string(struct json_stacks *stacks, const char *s, uint32_t *ret_number)
{
	*ret_number = NONE;
	return s ? add(stacks->strings, s, strlen(s) + 1, ret_number) : 0;
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
	int r = add_string(stacks, frame->function, &function.name);

	if (r == 0)
		r = add_string(stacks, frame->file, &function.file);
	if (r == 0)
		r = add_string(stacks, frame->object, &function.object);
	if (r == 0)
		r = add(stacks->functions, &function, sizeof(function), &key.function);
	return r < 0 ? r : add(stacks->frames, &key, sizeof(key), ret_number);
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

static int know_place(struct json_stacks *stacks, const struct view_place *place,
		      const struct known_place **ret_known)
{
	const struct view_stack stack = { .n_places = 1, .places = &place };
	struct view_frames frames = { .stack = &stack };
	_cleanup_free_ struct known_place *known = malloc(sizeof(*known));
	struct view_frame frame;
	int r = 0;

	if (!known)
		return -ENOMEM;
	*known = (struct known_place){ .place = place, .first = stacks->place_frames.len };
	while (r == 0 && view_frames_next(&frames, &frame))
		r = add_view_frame(stacks, &frame);
	known->n = stacks->place_frames.len - known->first;
	if (r == 0)
		r = hashmap_insert(stacks->places, known);
	if (r == 0)
		*ret_known = TAKE_PTR(known);
	return r;
}

/* Calls of `frames`, innermost first, by the stack *caller, which becomes the innermost one. */
static int add_calls(struct json_stacks *stacks, const uint32_t *frames, size_t n, uint32_t *caller)
{
	int r = 0;

	for (size_t i = n; r == 0 && i > 0; i--) {
		const struct node_key key = { .frame = frames[i - 1], .caller = *caller };

		r = add(stacks->nodes, &key, sizeof(key), caller);
	}
	return r;
}

static int add_stack(struct json_stacks *stacks, const struct view_stack *stack,
		     int64_t *ret_number)
{
	uint32_t node = NONE;
	int r = 0;

	for (size_t i = stack->n_places; r == 0 && i > 0; i--) {
		const struct known_place sought = { .place = stack->places[i - 1] };
		const struct known_place *known = hashmap_find(stacks->places, &sought);

		if (!known)
			r = know_place(stacks, sought.place, &known);
		if (r == 0)
			r = add_calls(stacks, &stacks->place_frames.data[known->first], known->n,
				      &node);
	}
	*ret_number = node == NONE ? -1 : (int64_t)node;
	return r;
}

int json_stacks_add_numbers(struct json_stacks *stacks, const uint32_t *frames, size_t n,
			    int64_t *ret_number)
{
	uint32_t node = NONE;
	int r = add_calls(stacks, frames, n, &node);

	*ret_number = node == NONE ? -1 : (int64_t)node;
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
	return number == NONE ? NULL : interns_get(stacks->strings, number);
}

static void put_function(const struct json_stacks *stacks, size_t i, struct json_out *out)
{
	const struct function_key *function = interns_get(stacks->functions, i);
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "function", string(stacks, function->name));
	json_out_string(out, json, "file", string(stacks, function->file));
	json_out_string(out, json, "object", string(stacks, function->object));
	json_out_put(out, json);
}

static void put_frame(const struct json_stacks *stacks, size_t i, struct json_out *out)
{
	const struct frame_key *frame = interns_get(stacks->frames, i);
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
	const struct node_key *node = interns_get(stacks->nodes, i);

	if (node->caller == NONE)
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

	put_table(stacks, "functions", stacks ? stacks->functions : NULL, put_function, out);
	fputc(',', out->file);
	put_table(stacks, "frames", stacks ? stacks->frames : NULL, put_frame, out);
	fputc(',', out->file);
	put_table(stacks, "stacks", stacks ? stacks->nodes : NULL, put_node, out);
}
