/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/stack_index.h"

#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>

struct stack_index {
	struct hashmap by_id; /* struct stack_facts */
	uint64_t frames;
};

DEFINE_HASHMAP_OPS(ops, struct stack_facts, free, id);

int stack_index_new(struct stack_index **ret_index)
{
	struct stack_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->by_id.ops = &ops;
	*ret_index = index;
	return 0;
}

void stack_index_free(struct stack_index *index)
{
	if (!index)
		return;
	hashmap_done(&index->by_id);
	free(index);
}

int stack_index_add(struct stack_index *index, const struct stack_facts *facts)
{
	bool is_new;

	if (!hashmap_intern(&index->by_id, facts, sizeof(*facts), &is_new))
		return -ENOMEM;
	if (!is_new)
		return -EEXIST;
	index->frames += facts->frames;
	return 0;
}

static struct stack_facts *find_facts(const struct stack_index *index, uint64_t id)
{
	const struct stack_facts key = { .id = id };

	return hashmap_find(&index->by_id, &key);
}

const struct stack_facts *stack_index_find(const struct stack_index *index, uint64_t id)
{
	return find_facts(index, id);
}

void stack_index_remove(struct stack_index *index, uint64_t id)
{
	const struct stack_facts key = { .id = id };
	struct stack_facts *facts = hashmap_remove(&index->by_id, &key);

	if (facts)
		index->frames -= facts->frames;
	free(facts);
}

uint64_t stack_index_frames(const struct stack_index *index)
{
	return index->frames;
}

/* What was not there had no rules, and no names. */
void stack_facts_set_gone(struct stack_facts *facts)
{
	if (facts->cut == ABI_CUT_NONE || facts->cut == ABI_CUT_NO_MAPPING ||
	    facts->cut == STACK_CUT_GENERATED || facts->cut == STACK_CUT_FRAME_POINTERS)
		facts->cut = STACK_CUT_GONE;
}

void stack_index_set_gone(struct stack_index *index, uint64_t id)
{
	struct stack_facts *facts = find_facts(index, id);

	if (facts)
		stack_facts_set_gone(facts);
}
