/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/lifecycle/block_insert.h"

#include "base/vec.h"
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "target/glibc/glibc_types.h"
#include "trace/bpf/bucket_table.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/urgent.h"
#include "trace/live/slots/shared_state.h"

#include <bpf/bpf.h>
#include <errno.h>

/* Elements of the map that are added by one call. */
#define BATCH 4096

struct batch {
	struct block_insert *insert;
	bool in_map_alone; /* kernels before 5.15: there is no table */
	uint32_t n;
	uint64_t keys[BATCH];
	struct abi_block blocks[BATCH];
	struct bucket_table table;
};

/* In its bucket; false: all ways are taken. */
static bool put_in_table(struct abi_block_bucket *bucket, uint64_t key,
			 const struct abi_block *block)
{
	for (size_t way = 0; way < ABI_BLOCK_WAYS; way++) {
		__u64 empty = 0;

		if (!__atomic_compare_exchange_n(&bucket->key[way], &empty, ABI_BLOCK_BUSY, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		bucket->block[way] = *block;
		__atomic_store_n(&bucket->key[way], key, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

static size_t bucket_index(const struct batch *batch, uint64_t key)
{
	return abi_block_bucket_index(key, (uint32_t)batch->table.n);
}

static struct abi_block_bucket *bucket_of(const struct batch *batch, uint64_t key)
{
	return &batch->table.buckets[bucket_index(batch, key)];
}

/* Who finds that nothing spilled does not look into the map: the count is raised first. */
static void count_spilled(const struct batch *batch, uint64_t key, int by)
{
	if (!batch->in_map_alone)
		__atomic_add_fetch(&bucket_of(batch, key)->spilled, by, __ATOMIC_SEQ_CST);
}

static int map_fd(const struct batch *batch)
{
	return bpf_map__fd(batch->insert->programs->skel->maps.blocks);
}

/* Is there such a block already? One of which a program has seen the allocation. */
static bool is_known(const struct batch *batch, uint64_t key)
{
	const struct abi_block_bucket *bucket;
	struct abi_block block;

	if (!batch->in_map_alone) {
		bucket = bucket_of(batch, key);
		for (size_t way = 0; way < ABI_BLOCK_WAYS; way++)
			if (__atomic_load_n(&bucket->key[way], __ATOMIC_ACQUIRE) == key)
				return true;
		if (!__atomic_load_n(&bucket->spilled, __ATOMIC_ACQUIRE))
			return false;
	}
	return urgent_lookup(map_fd(batch), &key, &block) == 0;
}

/* One call: those that are in then, as it says itself when it fails, mostly for want of room. */
static uint32_t insert_batch(const struct batch *batch)
{
	_urgent_;
	uint32_t added = batch->n;

	if (bpf_map_update_batch(map_fd(batch), batch->keys, batch->blocks, &added, NULL) == 0)
		return batch->n;
	return added < batch->n ? added : 0;
}

/* What waits in the batch goes into the map. */
static void flush(struct batch *batch)
{
	uint32_t added = batch->n ? insert_batch(batch) : 0;

	shared_add_room(batch->insert->programs, (slot_t){ batch->insert->slot }, added, 0);
	for (uint32_t i = 0; i < batch->n; i++) {
		if (i < added) {
			batch->insert->blocks++;
			batch->insert->bytes += ABI_BLOCK_SIZE(&batch->blocks[i]);
		} else {
			batch->insert->no_room++;
			count_spilled(batch, batch->keys[i], -1);
		}
	}
	batch->n = 0;
}

static void put_block(struct batch *batch, uint64_t key, const struct abi_block *block)
{
	if (!batch->in_map_alone)
		bucket_table_mark(&batch->table, bucket_index(batch, key));
	if (!batch->in_map_alone && put_in_table(bucket_of(batch, key), key, block)) {
		batch->insert->blocks++;
		batch->insert->bytes += ABI_BLOCK_SIZE(block);
		return;
	}
	count_spilled(batch, key, 1);
	batch->keys[batch->n] = key;
	batch->blocks[batch->n++] = *block;
	if (batch->n == BATCH)
		flush(batch);
}

/* Saved values are those of a site that was not there at the last cut and the last peak. */
static int add_site(const struct block_insert *insert)
{
	const struct programs *programs = insert->programs;
	const struct abi_site_key key = { .slot = insert->slot, .fn = insert->fn };
	const struct abi_site site = {
		.now = { .live_bytes = (int64_t)insert->bytes,
			 .live_blocks = (int64_t)insert->blocks,
			 .lifetimes = -insert->blocks * insert->lifetime_clock },
		.peak_epoch = programs->procs[insert->slot].peak_epoch,
		.cut_epoch = programs->control->cut_epoch,
	};

	int r = urgent_add(bpf_map__fd(programs->skel->maps.sites), &key, &site);

	if (r == 0)
		shared_add_room(insert->programs, (slot_t){ insert->slot }, 0, 1);
	return r;
}

int block_insert_all(struct block_insert *insert, const struct glibc_block *blocks, size_t n)
{
	_cleanup_free_ struct batch *batch = calloc(1, sizeof(*batch));
	int r = batch ? bucket_table_map(insert->programs, &batch->table) : -ENOMEM;

	if (r)
		return r;
	batch->insert = insert;
	batch->in_map_alone = insert->programs->stubs.cookies_fd > 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t key = ABI_BLOCK_KEY(insert->slot, blocks[i].addr);
		const struct abi_block block = { .size_fn = ABI_SIZE_FN(blocks[i].size,
									ABI_FORM_OWN, insert->fn),
						 .tick = insert->tick,
						 .era = insert->era };

		if (blocks[i].addr >= ABI_ADDR_LIMIT || blocks[i].size >> ABI_SIZE_BITS)
			insert->no_room++;
		else if (!is_known(batch, key))
			put_block(batch, key, &block);
	}
	flush(batch);
	bucket_table_done(&batch->table);
	return insert->blocks ? add_site(insert) : 0;
}
