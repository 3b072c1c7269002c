/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_names.h"

#include "base/hashmap.h"
#include "symbol/wrappers.h"

#include <errno.h>
#include <stdlib.h>

/* What is learnt to be a wrapper has at least so many callers, and allocates as many sizes. */
#define LEAST_CALLERS 8
#define LEAST_SIZES 4
/* What only passes a size on does so near its start. */
#define MOST_OFFSET 192
/* Wrappers that call each other. */
#define MOST_ROUNDS 8

/* What is known of a function, by the addresses of its strings: the symbolizer keeps each once. */
struct function {
	const char *name, *object;
	bool is_wrapper;
	/* Of what calls allocators and wrappers, in a round of learning: */
	bool is_unfit; /* it does more than pass a size on */
	bool has_call;
	uint64_t call; /* the one place where it calls them */
	size_t n_callers, n_sizes;
	const struct function *callers[LEAST_CALLERS];
	uint64_t sizes[LEAST_SIZES];
};

struct view_names {
	char *const *patterns;
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

static bool is_wrapper(const struct view_names *names, const struct view_frame *frame)
{
	const struct model_object *mapped = frame->place->mapped;

	if ((mapped && model_object_is_kernel(mapped)) ||
	    wrappers_have(frame->function, frame->linkage, frame->place->object))
		return true;
	for (size_t i = 0; frame->function && names->patterns && names->patterns[i]; i++)
		if (wrappers_match(names->patterns[i], frame->function))
			return true;
	return false;
}

/* A view has thousands of stacks, but their functions are few. */
static int find_function(struct view_names *names, const struct view_frame *frame,
			 struct function **ret_function)
{
	const struct function sought = { .name = frame->function, .object = frame->place->object };
	struct function *function = hashmap_find(names->functions, &sought);
	int r = 0;

	if (!function) {
		function = malloc(sizeof(*function));
		if (!function)
			return -ENOMEM;
		*function = sought;
		function->is_wrapper = is_wrapper(names, frame);
		r = hashmap_insert(names->functions, function);
		if (r < 0) {
			free(function);
			return r;
		}
	}
	*ret_function = function;
	return 0;
}

/* 1: the walk has given a frame outside allocators and wrappers; 0: there is none, or -ENOMEM. */
static int next_outside(struct view_names *names, struct view_frames *it, struct view_frame *frame,
			struct function **ret_function)
{
	while (view_frames_next(it, frame)) {
		int r = frame->place->alloc ? 0 : find_function(names, frame, ret_function);

		if (r < 0)
			return r;
		if (!frame->place->alloc && !(*ret_function)->is_wrapper)
			return 1;
	}
	return 0;
}

static void add_caller(struct function *function, const struct function *caller)
{
	for (size_t i = 0; i < function->n_callers; i++)
		if (function->callers[i] == caller)
			return;
	if (function->n_callers < LEAST_CALLERS)
		function->callers[function->n_callers++] = caller;
}

static void add_size(struct function *function, uint64_t size)
{
	for (size_t i = 0; i < function->n_sizes; i++)
		if (function->sizes[i] == size)
			return;
	if (function->n_sizes < LEAST_SIZES && size != VIEW_UNKNOWN)
		function->sizes[function->n_sizes++] = size;
}

/* What the site tells of the function that calls the allocator or its wrapper. */
static int learn_site(struct view_names *names, const struct view_site *site)
{
	struct view_frames it = { .stack = &site->stack };
	struct function *function, *caller;
	struct view_frame frame, next;
	int r = next_outside(names, &it, &frame, &function);

	if (r <= 0 || function->is_unfit)
		return r < 0 ? r : 0;
	function->is_unfit = frame.is_inline || !frame.function || !frame.has_offset ||
			     frame.offset > MOST_OFFSET ||
			     (function->has_call && function->call != frame.place->vaddr);
	function->has_call = true;
	function->call = frame.place->vaddr;
	if (function->is_unfit || !view_frames_next(&it, &next))
		return 0;
	r = find_function(names, &next, &caller);
	if (r < 0)
		return r;
	add_caller(function, caller);
	add_size(function, view_site_mean_size(site));
	return 0;
}

/* What calls a function that is no wrapper does more than pass a size on. */
static int mark_callers(struct view_names *names, const struct view_site *site)
{
	struct view_frames it = { .stack = &site->stack };
	struct function *function;
	struct view_frame frame;
	int r = next_outside(names, &it, &frame, &function);

	while (r > 0) {
		r = next_outside(names, &it, &frame, &function);
		if (r > 0)
			function->is_unfit = true;
	}
	return r;
}

static int each_site(struct view_names *names, const struct view_process *processes, size_t n,
		     int (*fn)(struct view_names *names, const struct view_site *site))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t j = 0; r == 0 && j < processes[i].n_sites; j++)
			if (processes[i].sites[j].class == VIEW_HEAP)
				r = fn(names, &processes[i].sites[j]);
	return r;
}

static bool is_like_a_wrapper(const struct function *function)
{
	return !function->is_wrapper && !function->is_unfit &&
	       function->n_callers == LEAST_CALLERS && function->n_sizes == LEAST_SIZES;
}

static bool any_like_a_wrapper(const struct view_names *names)
{
	const struct function *function;

	for (size_t pos = 0; (function = hashmap_next(names->functions, &pos));)
		if (is_like_a_wrapper(function))
			return true;
	return false;
}

/* Those that have shown themselves; how many. The others have another round, without them. */
static size_t end_round(struct view_names *names)
{
	struct function *function;
	size_t n = 0;

	for (size_t pos = 0; (function = hashmap_next(names->functions, &pos));) {
		if (is_like_a_wrapper(function)) {
			function->is_wrapper = true;
			n++;
		}
		function->is_unfit = function->has_call = false;
		function->n_callers = function->n_sizes = 0;
	}
	return n;
}

/*
 * A function that only passes a size on to an allocator: it calls one, or a wrapper, at one place
 * near its start and nothing else that allocates, is called by many functions, and its sizes
 * differ. 0 or -ENOMEM.
 */
static int learn(struct view_names *names, const struct view_process *processes, size_t n)
{
	size_t n_learnt = 1;
	int r = 0;

	for (size_t i = 0; r == 0 && n_learnt > 0 && i < MOST_ROUNDS; i++) {
		r = each_site(names, processes, n, learn_site);
		if (r < 0 || !any_like_a_wrapper(names))
			return r;
		r = each_site(names, processes, n, mark_callers);
		n_learnt = end_round(names);
	}
	return r;
}

/* Where all are wrappers it is the first behind the allocator, else the allocator itself. */
static int set_name(struct view_names *names, struct view_stack *stack)
{
	struct view_frames it = { .stack = stack }, at = it;
	struct view_frame frame;
	bool has_caller = false;

	stack->name = (struct view_frame_at){ 0 };
	for (; view_frames_next(&it, &frame); at = it) {
		struct function *function;
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

int view_names_set(char *const *patterns, struct view_process *processes, size_t n_processes,
		   struct view_counts *counts)
{
	struct view_names names = { .patterns = patterns };
	int r = hashmap_new(&function_ops, &names.functions);

	if (r == 0)
		r = learn(&names, processes, n_processes);
	for (size_t i = 0; r == 0 && i < n_processes; i++)
		for (size_t j = 0; r == 0 && j < processes[i].n_sites; j++)
			r = set_name(&names, &processes[i].sites[j].stack);
	for (size_t i = 0; r == 0 && i < counts->n_events; i++)
		for (size_t j = 0; r == 0 && j < counts->events[i].n_stacks; j++)
			r = set_name(&names, &counts->events[i].stacks[j].stack);
	hashmap_free(names.functions);
	return r;
}
