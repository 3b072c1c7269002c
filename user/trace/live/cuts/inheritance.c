/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/inheritance.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/programs.h"
#include "trace/live/books/live_books.h"

#include <errno.h>
#include <stdlib.h>

struct inheritance {
	const struct programs *programs;
	struct hashmap shed; /* struct shed_block */
};

/* An inherited block that a forked process has freed. */
struct shed_block {
	uint64_t key; /* of the process that freed it */
	uint32_t era; /* its forks before */
};

DEFINE_HASHMAP_OPS(shed_ops, struct shed_block, free, key);

static int add_shed(struct inheritance *inheritance, uint64_t key, uint32_t era)
{
	const struct shed_block shed = { key, era };

	return hashmap_intern(&inheritance->shed, &shed, sizeof(shed), NULL) ? 0 : -ENOMEM;
}

static int on_shed(const void *keys, const void *values, size_t n, void *userdata)
{
	const uint64_t *key = keys;
	const uint32_t *era = values;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_shed(userdata, key[i], era[i]);
	return r;
}

struct book_reading {
	struct inheritance *inheritance;
	uint32_t slot;
	size_t most;
	uint64_t left_out;
};

static int on_book_block(const struct live_book_block *told, void *userdata)
{
	struct book_reading *reading = userdata;

	if (told->is_shed && reading->inheritance->shed.len >= reading->most) {
		reading->left_out++;
		return 0;
	}
	return told->is_shed ?
		       add_shed(reading->inheritance, ABI_BLOCK_KEY(reading->slot, told->address),
				told->block.era) :
		       0;
}

/* A table that grows is read again: what is there stays. */
#define BOOK_TRIES 4

static int read_books(struct inheritance *inheritance, struct live *live)
{
	int r = 0;

	vec_foreach(&live->slots.all, p) {
		struct live_process *process = *p;
		struct book_reading reading = { .inheritance = inheritance,
						.most = live->opts.run.room.copies };

		if (r || !process || !process->book.book || !live_book_ancestor(live, process))
			continue;
		reading.slot = process->slot.n;
		r = -EAGAIN;
		for (unsigned int i = 0; i < BOOK_TRIES && r == -EAGAIN; i++) {
			reading.left_out = 0;
			r = live_book_blocks(live, process, 0, on_book_block, &reading);
		}
		live_book_count_left_out(live, process, reading.left_out);
		if (r == -EAGAIN)
			r = 0;
	}
	return r;
}

int inheritance_new(struct live *live, struct inheritance **ret_inheritance)
{
	const struct programs *programs = live->programs;
	_cleanup_(inheritance_free_p) struct inheritance *inheritance =
		calloc(1, sizeof(*inheritance));
	int r = 0;

	if (!inheritance)
		return -ENOMEM;
	inheritance->programs = programs;
	inheritance->shed.ops = &shed_ops;
	if (programs->has_tables)
		r = bpf_batch_read(bpf_map__fd(programs->skel->maps.shed), sizeof(uint64_t),
				   sizeof(uint32_t), on_shed, inheritance);
	if (r == 0)
		r = read_books(inheritance, live);
	if (r)
		return r;
	*ret_inheritance = TAKE_PTR(inheritance);
	return 0;
}

void inheritance_free(struct inheritance *inheritance)
{
	if (!inheritance)
		return;
	hashmap_done(&inheritance->shed);
	free(inheritance);
}

static const struct shed_block *find_shed(const struct inheritance *inheritance, uint32_t slot,
					  uint64_t block)
{
	struct shed_block key = { .key = ABI_BLOCK_KEY(slot, ABI_BLOCK_ADDR(block)) };

	return hashmap_find(&inheritance->shed, &key);
}

/* Had the process freed an inherited block at that address before its fork number `era`? */
static bool had_shed(const struct inheritance *inheritance, uint32_t slot, uint64_t block,
		     uint32_t era)
{
	const struct shed_block *found = find_shed(inheritance, slot, block);

	return found && found->era < era;
}

bool inheritance_got(const struct inheritance *inheritance, __u32 slot,
		     const struct walked_block *block)
{
	const struct abi_proc *procs = inheritance->programs->procs;
	uint32_t owner = ABI_BLOCK_SLOT(block->key), era;

	/* Each step is an older process: the chain ends. */
	while (procs[slot].parent != ABI_NO_SLOT) {
		era = procs[slot].parent_era;
		slot = procs[slot].parent;
		if (slot == owner)
			return block->block->era < era && era <= block->freed_era;
		if (had_shed(inheritance, slot, block->key, era))
			return false;
	}
	return false;
}

bool inheritance_has_freed(const struct inheritance *inheritance, __u32 slot, __u64 block_key)
{
	return find_shed(inheritance, slot, block_key) != NULL;
}

/* --- descendants ----------------------------------------------------------------------------- */

struct descent {
	uint32_t ancestor, slot;
};

struct descendants {
	size_t n_slots;
	size_t *first;	 /* by slot: where its descendants begin; n_slots + 1 of them */
	uint32_t *slots; /* of the descendants, by ancestor */
};

typedef VEC(struct descent) descent_vec;

static int add_ancestors(const struct programs *programs, uint32_t slot, size_t n_slots,
			 descent_vec *found)
{
	uint32_t ancestor = programs->procs[slot].parent;

	/* Each step is an older process; the bound is for what changes while it is read. */
	for (size_t left = n_slots; left > 0 && ancestor < n_slots; left--) {
		int r = vec_push(found, (struct descent){ ancestor, slot });

		if (r)
			return r;
		ancestor = programs->procs[ancestor].parent;
	}
	return 0;
}

/* By counting: first[] becomes the place of each ancestor's next descent, then of its first. */
static int sort_descents(struct descendants *descendants, const descent_vec *found)
{
	descendants->first = calloc(descendants->n_slots + 2, sizeof(*descendants->first));
	descendants->slots = calloc(found->len + 1, sizeof(*descendants->slots));
	if (!descendants->first || !descendants->slots)
		return -ENOMEM;
	vec_foreach(found, descent)
		descendants->first[descent->ancestor + 2]++;
	for (size_t i = 2; i < descendants->n_slots + 2; i++)
		descendants->first[i] += descendants->first[i - 1];
	vec_foreach(found, descent)
		descendants->slots[descendants->first[descent->ancestor + 1]++] = descent->slot;
	return 0;
}

int descendants_new(const struct programs *programs, const uint32_t *forked, size_t n,
		    size_t n_slots, struct descendants **ret_descendants)
{
	_cleanup_(descendants_free_p) struct descendants *descendants =
		calloc(1, sizeof(*descendants));
	descent_vec found = {};
	int r = descendants ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_ancestors(programs, forked[i], n_slots, &found);
	if (r == 0) {
		descendants->n_slots = n_slots;
		r = sort_descents(descendants, &found);
	}
	vec_done(&found);
	if (r)
		return r;
	*ret_descendants = TAKE_PTR(descendants);
	return 0;
}

void descendants_free(struct descendants *descendants)
{
	if (!descendants)
		return;
	free(descendants->first);
	free(descendants->slots);
	free(descendants);
}

const uint32_t *descendants_of(const struct descendants *descendants, uint32_t slot, size_t *ret_n)
{
	*ret_n = 0;
	if (slot >= descendants->n_slots)
		return descendants->slots;
	*ret_n = descendants->first[slot + 1] - descendants->first[slot];
	return descendants->slots + descendants->first[slot];
}
