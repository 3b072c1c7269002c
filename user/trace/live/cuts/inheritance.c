/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/inheritance.h"

#include "base/hashmap.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/programs.h"

#include <errno.h>

struct inheritance {
	const struct programs *programs;
	struct hashmap *shed; /* struct shed_block */
};

/* An inherited block that a forked process has freed. */
struct shed_block {
	uint64_t key; /* of the process that freed it */
	uint32_t era; /* its forks before */
};

static uint64_t shed_hash(const void *item)
{
	return hash_u64(((const struct shed_block *)item)->key);
}

static bool shed_equal(const void *a, const void *b)
{
	return ((const struct shed_block *)a)->key == ((const struct shed_block *)b)->key;
}

static const struct hashmap_ops shed_ops = { shed_hash, shed_equal, free };

static int on_shed(const void *keys, const void *values, size_t n, void *userdata)
{
	const uint64_t *key = keys;
	const uint32_t *era = values;
	struct inheritance *inheritance = userdata;

	for (size_t i = 0; i < n; i++) {
		struct shed_block *shed = malloc(sizeof(*shed));
		int r;

		if (!shed)
			return -ENOMEM;
		*shed = (struct shed_block){ key[i], era[i] };
		r = hashmap_insert(inheritance->shed, shed);
		if (r)
			free(shed);
		if (r && r != -EEXIST)
			return r;
	}
	return 0;
}

int inheritance_new(const struct programs *programs, struct inheritance **ret_inheritance)
{
	_cleanup_(inheritance_free_p) struct inheritance *inheritance =
		calloc(1, sizeof(*inheritance));
	int r;

	if (!inheritance)
		return -ENOMEM;
	inheritance->programs = programs;
	r = hashmap_new(&shed_ops, &inheritance->shed);
	if (r == 0)
		r = bpf_batch_read(bpf_map__fd(programs->skel->maps.shed), sizeof(uint64_t),
				   sizeof(uint32_t), on_shed, inheritance);
	if (r)
		return r;
	*ret_inheritance = TAKE_PTR(inheritance);
	return 0;
}

void inheritance_free(struct inheritance *inheritance)
{
	if (!inheritance)
		return;
	hashmap_free(inheritance->shed);
	free(inheritance);
}

static const struct shed_block *find_shed(const struct inheritance *inheritance, uint32_t slot,
					  uint64_t block)
{
	struct shed_block key = { .key = ABI_BLOCK_KEY(slot, ABI_BLOCK_ADDR(block)) };

	return hashmap_find(inheritance->shed, &key);
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
