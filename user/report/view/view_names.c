/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_names.h"

#include "base/hashmap.h"
#include "symbol/wrappers.h"

#include <errno.h>
#include <stdlib.h>

/* What is known of a function, by the addresses of its strings: the symbolizer keeps each once. */
struct function {
	const char *name, *object;
	bool is_wrapper;
};

struct view_names {
	struct hashmap *functions;
};

static uint64_t hash_function(const void *item)
{
	const struct function *function = item;

	return hash_u64((uintptr_t)function->name ^ hash_u64((uintptr_t)function->object));
}

static bool equal_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->name == y->name && x->object == y->object;
}

static const struct hashmap_ops function_ops = { hash_function, equal_functions, free };

static bool is_wrapper(const struct view_frame *frame)
{
	const struct model_object *mapped = frame->place->mapped;

	return (mapped && model_object_is_kernel(mapped)) ||
	       wrappers_have(frame->function, frame->linkage, frame->place->object);
}

/* Stacks have few functions in common with all others, and a view has thousands of stacks. */
static int find_function(struct view_names *names, const struct view_frame *frame,
			 const struct function **ret_function)
{
	const struct function sought = { .name = frame->function, .object = frame->place->object };
	struct function *function = hashmap_find(names->functions, &sought);
	int r = 0;

	if (!function) {
		function = malloc(sizeof(*function));
		if (!function)
			return -ENOMEM;
		*function = sought;
		function->is_wrapper = is_wrapper(frame);
		r = hashmap_insert(names->functions, function);
		if (r < 0) {
			free(function);
			return r;
		}
	}
	*ret_function = function;
	return 0;
}

/* Where all are wrappers it is the first behind the allocator, else the allocator itself. */
static int set_name(struct view_names *names, struct view_stack *stack)
{
	struct view_frames it = { .stack = stack }, at = it;
	struct view_frame frame;
	bool has_caller = false;

	stack->name = (struct view_frame_at){ 0 };
	for (; view_frames_next(&it, &frame); at = it) {
		const struct function *function;
		int r;

		if (frame.place->alloc)
			continue;
		r = find_function(names, &frame, &function);
		if (r < 0)
			return r;
		if (!has_caller || !function->is_wrapper)
			stack->name = (struct view_frame_at){ at.place, at.frame };
		if (!function->is_wrapper)
			return 0;
		has_caller = true;
	}
	return 0;
}

int view_names_set(struct view_process *processes, size_t n_processes, struct view_counts *counts)
{
	struct view_names names = { 0 };
	int r = hashmap_new(&function_ops, &names.functions);

	for (size_t i = 0; r == 0 && i < n_processes; i++)
		for (size_t j = 0; r == 0 && j < processes[i].n_sites; j++)
			r = set_name(&names, &processes[i].sites[j].stack);
	for (size_t i = 0; r == 0 && i < counts->n_events; i++)
		for (size_t j = 0; r == 0 && j < counts->events[i].n_stacks; j++)
			r = set_name(&names, &counts->events[i].stacks[j].stack);
	hashmap_free(names.functions);
	return r;
}
