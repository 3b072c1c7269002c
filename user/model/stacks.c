/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/stacks.h"

#include "base/vec.h"
#include "trace/record/image.h"

#include <errno.h>
#include <string.h>

static void stack_free(void *item)
{
	struct model_stack *stack = item;

	while (stack) {
		struct model_stack *other = stack->other;

		free(stack);
		stack = other;
	}
}

DEFINE_HASHMAP_OPS(stack_ops, struct model_stack, stack_free, id);

void stacks_init(struct stacks *ret_stacks)
{
	*ret_stacks = (struct stacks){ .map.ops = &stack_ops };
}

void stacks_done(struct stacks *stacks)
{
	hashmap_done(&stacks->map);
}

static struct model_stack *find_first(const struct stacks *stacks, uint64_t id)
{
	struct model_stack key = { .id = id };

	return hashmap_find(&stacks->map, &key);
}

const struct model_stack *stacks_next(const struct stacks *stacks, size_t *pos,
				      const struct model_stack *last)
{
	return last && last->other ? last->other : hashmap_next(&stacks->map, pos);
}

int stacks_add(struct stacks *stacks, const struct record_stack *record)
{
	struct model_stack *first = find_first(stacks, record->id);
	_cleanup_free_ struct model_stack *stack = NULL;
	int r;

	for (const struct model_stack *s = first; s; s = s->other)
		if (image_is(s->image, record->image))
			return 0;

	stack = malloc(sizeof(*stack) +
		       (record->n_frames + record->n_more_exact) * sizeof(stack->frames[0]));
	if (!stack)
		return -ENOMEM;
	*stack = (struct model_stack){
		.id = record->id,
		.time_ns = record->time_ns,
		.image = record->image,
		.truncated = record->truncated,
		.exact = { record->exact[0] | record->interrupted, record->exact[1] },
		.n_frames = record->n_frames,
		.n_more_exact = record->n_more_exact,
	};
	if (record->n_frames > 0)
		memcpy(stack->frames, record->frames, record->n_frames * sizeof(stack->frames[0]));
	if (record->n_more_exact > 0)
		memcpy(stack->frames + record->n_frames, record->more_exact,
		       record->n_more_exact * sizeof(stack->frames[0]));
	if (first) {
		stack->other = first->other;
		first->other = TAKE_PTR(stack);
		return 0;
	}
	r = hashmap_insert(&stacks->map, stack);
	if (r < 0)
		return r;
	(void)TAKE_PTR(stack); /* the map's now */
	return 0;
}

/* Of the others with the same id; the first is the map's. */
static void forget_others(struct model_stack *first, const image_t *images, size_t n)
{
	struct model_stack **link = &first->other;

	while (*link) {
		struct model_stack *stack = *link;

		if (!image_list_has(images, n, stack->image)) {
			link = &stack->other;
			continue;
		}
		*link = stack->other;
		free(stack);
	}
}

/* The first of its id, which no process has any more: the next takes its place. 0 or -ENOMEM. */
static int forget_first(struct stacks *stacks, struct model_stack *first)
{
	struct model_stack *next = first->other;

	(void)hashmap_remove(&stacks->map, first); /* it is `first` */
	free(first);
	return next ? hashmap_insert(&stacks->map, next) : 0;
}

int stacks_forget(struct stacks *stacks, const image_t *images, size_t n)
{
	VEC(struct model_stack *) gone = { 0 };
	struct model_stack *stack;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (stack = hashmap_next(&stacks->map, &pos))) {
		forget_others(stack, images, n);
		if (image_list_has(images, n, stack->image))
			r = vec_push(&gone, stack);
	}
	vec_foreach(&gone, it)
		if (r == 0)
			r = forget_first(stacks, *it);
	vec_done(&gone);
	return r;
}

const struct model_stack *stacks_find(const struct stacks *stacks, uint64_t id, image_t image)
{
	const struct model_stack *first = find_first(stacks, id);

	for (const struct model_stack *s = first; s; s = s->other)
		if (image_is(s->image, image))
			return s;
	return first;
}

bool model_stack_is_call(const struct model_stack *stack, size_t frame)
{
	size_t word = frame / 64, more = word - RECORD_EXACT_WORDS;
	uint64_t bits = 0;

	if (word < RECORD_EXACT_WORDS)
		bits = stack->exact[word];
	else if (more < stack->n_more_exact)
		bits = stack->frames[stack->n_frames + more];
	return !(bits >> frame % 64 & 1);
}
