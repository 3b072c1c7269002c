/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/leak/leak_stacks.h"

#include "analyze/valgrind_names.h"
#include "base/hashmap.h"

#include <errno.h>
#include <string.h>

/* Of what is the same wherever the file is mapped, so that code loaded again is the same place. */
static uint64_t place_key(const struct view_place *place)
{
	const char *object = place->object ? place->object : "";
	uint64_t h = hash_bytes(object, strlen(object), place->alloc ? 1 : 0);

	return hash_u64(h ^ (place->mapped ? place->offset : place->addr));
}

/* C++'s functions have names of their own among the allocator's. */
static bool is_mangled(const struct view_frame *frame)
{
	return frame->place->alloc && !frame->linkage && strncmp(frame->place->alloc, "_Z", 2) == 0;
}

/* An allocator's frame has the name that it was counted by. */
static const char *demangled(const struct view_frame *frame)
{
	const struct symbol *symbol = frame->place->symbol;
	const struct symbol_frame *physical = &symbol->frames[symbol->n_frames - 1];
	bool is_same = physical->function && physical->linkage && frame->place->alloc &&
		       strcmp(physical->linkage, frame->place->alloc) == 0;

	return is_same && !frame->is_called ? physical->function : frame->function;
}

static void add_frame(struct leak_stack *stack, const struct view_frame *from)
{
	stack->names[stack->n_frames] = (struct suppression_frame){
		.linkage = is_mangled(from) ? from->place->alloc : from->linkage,
		.function = demangled(from),
		.object = from->place->object,
		.file = from->file,
		.line = from->line,
		.valgrind = from->is_called ? NULL : from->valgrind,
		.is_inline = from->is_inline,
		.seen = from->seen,
	};
	stack->frames[stack->n_frames++] = (struct leak_frame){
		.place = from->place,
		.index = from->index,
		.is_called = from->is_called,
		.function = demangled(from),
		.file = from->file,
		.line = from->line,
	};
}

/* The first frames, and the places that they are all of, are taken off. */
static void leave_out(struct leak_stack *stack, size_t inner)
{
	size_t first;

	if (inner == 0)
		return;
	first = stack->frames[inner].index;
	stack->n_frames -= inner;
	memmove(stack->frames, stack->frames + inner, stack->n_frames * sizeof(*stack->frames));
	memmove(stack->names, stack->names + inner, stack->n_frames * sizeof(*stack->names));
	stack->n_keys -= first;
	memmove(stack->keys, stack->keys + first, stack->n_keys * sizeof(*stack->keys));
}

/* Is it known which form of new, delete or free was called? */
static void set_form(struct leak_stack *stack)
{
	const struct view_stack *all = &stack->stack;
	size_t caller;

	if (stack->n_frames == 0 || !alloc_frames_has_forms(&stack->names[0]))
		return;
	caller = stack->frames[0].index + 1;
	stack->names[0].is_any_form =
		caller >= all->n_places || !view_stack_place(all, caller)->symbol->callee.linkage;
}

static void cut(struct leak_stack *stack, size_t num_callers)
{
	size_t end;

	if (stack->n_keys <= num_callers)
		return;
	end = stack->frames[0].index + num_callers;
	stack->n_keys = num_callers;
	while (stack->n_frames > 0 && stack->frames[stack->n_frames - 1].index >= end)
		stack->n_frames--;
}

static int fill(struct leak_stack *stack, size_t num_callers)
{
	struct view_frames frames = { .stack = &stack->stack };
	struct view_frame frame;
	size_t n = 0;

	while (view_frames_next(&frames, &frame))
		n++;
	stack->frames = calloc(n + 1, sizeof(*stack->frames));
	stack->names = calloc(n + 1, sizeof(*stack->names));
	stack->keys = calloc(stack->stack.n_places + 1, sizeof(*stack->keys));
	if (!stack->frames || !stack->names || !stack->keys)
		return -ENOMEM;
	for (size_t i = 0; i < stack->stack.n_places; i++)
		stack->keys[stack->n_keys++] = place_key(view_stack_place(&stack->stack, i));
	frames = (struct view_frames){ .stack = &stack->stack };
	while (view_frames_next(&frames, &frame))
		add_frame(stack, &frame);
	leave_out(stack, alloc_frames_inner(stack->names, stack->n_frames));
	set_form(stack);
	stack->n_names = stack->n_frames;
	cut(stack, num_callers);
	return 0;
}

int leak_stacks_init(const struct view_resolver *resolver, const struct model_process *image,
		     const struct leak_place *places, size_t n, size_t num_callers,
		     struct leak_stacks *ret_stacks)
{
	int r = 0;

	*ret_stacks = (struct leak_stacks){ .stacks = calloc(n + 1, sizeof(struct leak_stack)) };
	if (!ret_stacks->stacks)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = view_resolve_site(resolver, image, places[i].fn, places[i].stack,
				      &ret_stacks->stacks[ret_stacks->n++].stack);
	if (r == 0)
		r = symbols_settle(resolver->symbols);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = fill(&ret_stacks->stacks[i], num_callers);
	return r;
}

void leak_stacks_done(struct leak_stacks *stacks)
{
	for (size_t i = 0; i < stacks->n; i++) {
		view_stack_done(&stacks->stacks[i].stack);
		free(stacks->stacks[i].frames);
		free(stacks->stacks[i].names);
		free(stacks->stacks[i].keys);
	}
	free(stacks->stacks);
	*stacks = (struct leak_stacks){ 0 };
}
