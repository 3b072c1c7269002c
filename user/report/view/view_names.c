/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_names.h"

#include "base/hashmap.h"
#include "base/interns.h"
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
	bool is_given; /* of --wrapper */
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
	struct hashmap functions;
	struct interns learnt;	 /* names (wrappers_name) of functions that were learnt here */
	struct interns wrappers; /* of those of other views, too */
};

DEFINE_HASHMAP_OPS(function_ops, struct function, free, name, object);

static bool is_given(const struct view_names *names, const struct view_frame *frame)
{
	for (size_t i = 0; frame->function && names->patterns && names->patterns[i]; i++)
		if (wrappers_match(names->patterns[i], frame->function))
			return true;
	return false;
}

static bool is_wrapper(const struct view_names *names, const struct view_frame *frame)
{
	const struct model_object *mapped = frame->place->mapped;
	struct function_name name;

	if ((mapped && model_object_is_kernel(mapped)) ||
	    wrappers_have(frame->function, frame->linkage, frame->place->object))
		return true;
	if (!frame->function)
		return false;
	name = wrappers_name(frame->function);
	return interns_has(&names->wrappers, name.start, name.len);
}

/* A view has thousands of stacks, but their functions are few. */
static int find_function(struct view_names *names, const struct view_frame *frame,
			 struct function **ret_function)
{
	const struct function sought = { .name = frame->function, .object = frame->place->object };
	bool is_new;
	struct function *function =
		hashmap_intern(&names->functions, &sought, sizeof(sought), &is_new);

	if (!function)
		return -ENOMEM;
	if (is_new) {
		function->is_given = is_given(names, frame);
		function->is_wrapper = function->is_given || is_wrapper(names, frame);
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

static int each_site(struct view_names *names, const struct view_named *named,
		     int (*fn)(struct view_names *names, const struct view_site *site))
{
	const struct view_process *processes = named->processes;
	int r = 0;

	for (size_t i = 0; r == 0 && i < named->n_processes; i++)
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

	for (size_t pos = 0; (function = hashmap_next(&names->functions, &pos));)
		if (is_like_a_wrapper(function))
			return true;
	return false;
}

/*
 * Those that have shown themselves: how many, or -ENOMEM. The others have another round, without
 * them.
 */
static int end_round(struct view_names *names)
{
	struct function *function;
	int n = 0, r = 0;

	for (size_t pos = 0; r >= 0 && (function = hashmap_next(&names->functions, &pos));) {
		if (is_like_a_wrapper(function)) {
			struct function_name name = wrappers_name(function->name);
			size_t index;

			r = interns_add(&names->learnt, name.start, name.len, &index);
			function->is_wrapper = true;
			n++;
		}
		function->is_unfit = function->has_call = false;
		function->n_callers = function->n_sizes = 0;
	}
	return r < 0 ? r : n;
}

/*
 * A function that only passes a size on to an allocator: it calls one, or a wrapper, at one place
 * near its start and nothing else that allocates, is called by many functions, and its sizes
 * differ. 0 or -ENOMEM.
 */
static int learn(struct view_names *names, const struct view_named *named)
{
	int n_learnt = 1, r = 0;

	for (size_t i = 0; r == 0 && n_learnt > 0 && i < MOST_ROUNDS; i++) {
		r = each_site(names, named, learn_site);
		if (r < 0 || !any_like_a_wrapper(names))
			return r;
		r = each_site(names, named, mark_callers);
		n_learnt = end_round(names);
	}
	return n_learnt < 0 ? n_learnt : r;
}

/* Where all are wrappers it is the first behind the allocator, else the allocator itself. */
static int set_name(struct view_names *names, struct view_stack *stack)
{
	struct view_frames it = { .stack = stack }, at = it;
	struct view_frame frame;
	bool has_caller = false;

	stack->name = (struct view_frame_at){ 0 };
	stack->only_wrappers = false;
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
	stack->only_wrappers = true;
	return 0;
}

/*
 * What happens in a library or in the kernel is named by that, unless it happens for a function of
 * --wrapper: then by what calls it.
 */
static int set_event_name(struct view_names *names, struct view_stack *stack)
{
	struct view_frames it = { .stack = stack }, at = it;
	struct view_frame frame;
	bool is_behind = false;

	stack->name = (struct view_frame_at){ 0 };
	for (; view_frames_next(&it, &frame); at = it) {
		struct function *function;
		int r = find_function(names, &frame, &function);

		if (r < 0)
			return r;
		if (is_behind)
			stack->name = (struct view_frame_at){ at.place, at.frame };
		if (!function->is_wrapper)
			return 0;
		is_behind = function->is_given;
	}
	/* Nothing calls the last. */
	if (is_behind)
		stack->name = (struct view_frame_at){ 0 };
	return 0;
}

/* What touches memory first is often memset() or a wrapper, for its caller: as with heap. */
static int set_event_names(struct view_names *names, const struct view_event *event)
{
	int (*set)(struct view_names * names, struct view_stack * stack) =
		event->asked->page_bytes ? set_name : set_event_name;
	int r = 0;

	for (size_t i = 0; r == 0 && i < event->n_stacks; i++)
		r = set(names, &event->stacks[i].stack);
	return r;
}

static int set_names(struct view_names *names, const struct view_named *named)
{
	struct view_counts *counts = named->counts;
	int r = 0;

	for (size_t i = 0; r == 0 && i < named->n_processes; i++)
		for (size_t j = 0; r == 0 && j < named->processes[i].n_sites; j++)
			r = set_name(names, &named->processes[i].sites[j].stack);
	for (size_t i = 0; r == 0 && i < counts->n_events; i++)
		r = set_event_names(names, &counts->events[i]);
	return r;
}

int view_names_new(char *const *patterns, const struct view_named *named,
		   struct view_names **ret_names)
{
	_cleanup_(view_names_free_p) struct view_names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	names->patterns = patterns;
	names->functions.ops = &function_ops;
	r = learn(names, named);
	if (r == 0)
		r = set_names(names, named);
	if (r == 0)
		*ret_names = TAKE_PTR(names);
	return r;
}

void view_names_free(struct view_names *names)
{
	if (!names)
		return;
	hashmap_done(&names->functions);
	interns_done(&names->learnt);
	interns_done(&names->wrappers);
	free(names);
}

static int add_wrappers(struct view_names *names, const struct interns *learnt)
{
	size_t n = interns_count(learnt), index;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = interns_add(&names->wrappers, interns_get(learnt, i), interns_length(learnt, i),
				&index);
	return r < 0 ? r : 0;
}

int view_names_learn(struct view_names *names, const struct view_names *other,
		     const struct view_named *named)
{
	int r;

	if (interns_count(&other->learnt) == 0)
		return 0;
	r = add_wrappers(names, &names->learnt);
	if (r == 0)
		r = add_wrappers(names, &other->learnt);
	if (r < 0)
		return r;
	/* What was found out of functions is void. */
	hashmap_done(&names->functions);
	return set_names(names, named);
}
