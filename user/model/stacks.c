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
	pieces_done(&stacks->pieces);
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

/* Its frames are not there yet. */
static struct model_stack *stack_new(const struct record_stack *record)
{
	size_t n_words = pieces_own(record->n_frames) + record->n_more_exact;
	struct model_stack *stack =
		malloc(sizeof(*stack) + n_words * sizeof(stack->words[0]) +
		       pieces_count(record->n_frames) * sizeof(stack->pieces[0]));

	if (!stack)
		return NULL;
	*stack = (struct model_stack){
		.id = record->id,
		.time_ns = record->time_ns,
		.image = record->image,
		.truncated = record->truncated,
		.exact = { record->exact[0] | record->interrupted, record->exact[1] },
		.n_frames = (uint32_t)record->n_frames,
		.n_more_exact = (uint32_t)record->n_more_exact,
		.pieces = (struct words_piece **)(stack->words + n_words),
	};
	return stack;
}

static int copy_frames(struct stacks *stacks, const struct record_stack *record,
		       struct model_stack *stack)
{
	size_t own = pieces_own(record->n_frames);

	if (own > 0)
		memcpy(stack->words, record->frames, own * sizeof(stack->words[0]));
	if (record->n_more_exact > 0)
		memcpy(stack->words + own, record->more_exact,
		       record->n_more_exact * sizeof(stack->words[0]));
	return pieces_add(&stacks->pieces, record->frames, record->n_frames, stack->pieces);
}

int stacks_add(struct stacks *stacks, const struct record_stack *record)
{
	struct model_stack *first = find_first(stacks, record->id);
	_cleanup_free_ struct model_stack *stack = NULL;
	int r;

	for (const struct model_stack *s = first; s; s = s->other)
		if (image_is(s->image, record->image))
			return 0;

	stack = stack_new(record);
	r = stack ? copy_frames(stacks, record, stack) : -ENOMEM;
	if (r < 0)
		return r;
	if (first) {
		stack->other = first->other;
		first->other = TAKE_PTR(stack);
		return 0;
	}
	r = hashmap_insert(&stacks->map, stack);
	if (r < 0) {
		pieces_drop(&stacks->pieces, stack->pieces, pieces_count(stack->n_frames));
		return r;
	}
	(void)TAKE_PTR(stack); /* the map's now */
	return 0;
}

static void forget_stack(struct stacks *stacks, struct model_stack *stack)
{
	pieces_drop(&stacks->pieces, stack->pieces, pieces_count(stack->n_frames));
	free(stack);
}

/* Of the others with the same id; the first is the map's. */
static void forget_others(struct stacks *stacks, struct model_stack *first, const image_t *images,
			  size_t n)
{
	struct model_stack **link = &first->other;

	while (*link) {
		struct model_stack *stack = *link;

		if (!image_list_has(images, n, stack->image)) {
			link = &stack->other;
			continue;
		}
		*link = stack->other;
		forget_stack(stacks, stack);
	}
}

/* The first of its id, which no process has any more: the next takes its place. 0 or -ENOMEM. */
static int forget_first(struct stacks *stacks, struct model_stack *first)
{
	struct model_stack *next = first->other;

	(void)hashmap_remove(&stacks->map, first); /* it is `first` */
	forget_stack(stacks, first);
	return next ? hashmap_insert(&stacks->map, next) : 0;
}

int stacks_forget(struct stacks *stacks, const image_t *images, size_t n)
{
	VEC(struct model_stack *) gone = { 0 };
	struct model_stack *stack;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (stack = hashmap_next(&stacks->map, &pos))) {
		forget_others(stacks, stack, images, n);
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

uint64_t model_stack_frame(const struct model_stack *stack, size_t frame)
{
	return frame < pieces_own(stack->n_frames) ?
		       stack->words[frame] :
		       pieces_word(stack->pieces, stack->n_frames, frame);
}

bool model_stack_is_call(const struct model_stack *stack, size_t frame)
{
	size_t word = frame / 64, more = word - RECORD_EXACT_WORDS;
	uint64_t bits = 0;

	if (word < RECORD_EXACT_WORDS)
		bits = stack->exact[word];
	else if (more < stack->n_more_exact)
		bits = stack->words[pieces_own(stack->n_frames) + more];
	return !(bits >> frame % 64 & 1);
}
