/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/block_walk.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/bucket_table.h"
#include "trace/bpf/programs.h"

#include <errno.h>

/* Buckets between two looks at the clock: some 50 us where all are new to us. */
#define BUCKETS_EACH 256

struct walk {
	block_walk_fn fn;
	void *userdata;
	uint64_t deadline_ns; /* 0: none */
	size_t buckets;	      /* visited */
	bool spilled;	      /* by one of them at least */
};

static int check_time(const struct walk *walk)
{
	return walk->deadline_ns && clock_monotonic_ns() > walk->deadline_ns ? -ETIME : 0;
}

static int on_blocks(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_block *block = values;
	const struct walk *walk = userdata;
	const uint64_t *key = keys;
	int r = check_time(walk);

	for (size_t i = 0; i < n && r == 0; i++)
		r = walk->fn(&(struct walked_block){ key[i], &block[i], BLOCK_LIVE },
			     walk->userdata);
	return r;
}

/* The block of a way; 0 for its key when there is none, or it changes hands just now. */
static uint64_t read_way(const struct abi_block_bucket *bucket, size_t way, struct abi_block *ret)
{
	uint64_t key = __atomic_load_n(&bucket->key[way], __ATOMIC_ACQUIRE);

	if (key == 0 || key == ABI_BLOCK_BUSY)
		return 0;
	*ret = bucket->block[way];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&bucket->key[way], __ATOMIC_RELAXED) == key ? key : 0;
}

static int on_bucket(struct abi_block_bucket *bucket, void *userdata)
{
	struct walk *walk = userdata;
	int r = walk->buckets++ % BUCKETS_EACH == 0 ? check_time(walk) : 0;

	if (__atomic_load_n(&bucket->spilled, __ATOMIC_ACQUIRE))
		walk->spilled = true;
	for (size_t way = 0; way < ABI_BLOCK_WAYS && r == 0; way++) {
		struct abi_block block;
		uint64_t key = read_way(bucket, way, &block);

		if (key)
			r = walk->fn(&(struct walked_block){ key, &block, BLOCK_LIVE },
				     walk->userdata);
	}
	return r;
}

static int on_tombs(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_tomb_key *key = keys;
	const struct abi_tomb *tomb = values;
	const struct walk *walk = userdata;
	int r = check_time(walk);

	for (size_t i = 0; i < n && r == 0; i++)
		if (key[i].n != 0)
			r = walk->fn(&(struct walked_block){ key[i].block, &tomb[i].block,
							     tomb[i].freed_era },
				     walk->userdata);
	return r;
}

int block_walk(const struct programs *programs, bool with_freed, uint64_t deadline_ns,
	       block_walk_fn fn, void *userdata)
{
	const struct memtraced_bpf *skel = programs->skel;
	struct walk walk = { .fn = fn, .userdata = userdata, .deadline_ns = deadline_ns };
	int r = bucket_table_visit(programs, on_bucket, &walk);

	/* To find the map empty takes 2 ms. */
	if (r == 0 && (walk.spilled || programs->stubs.cookies_fd > 0))
		r = bpf_batch_read(bpf_map__fd(skel->maps.blocks), sizeof(uint64_t),
				   sizeof(struct abi_block), on_blocks, &walk);
	if (r == 0 && with_freed)
		r = bpf_batch_read(bpf_map__fd(skel->maps.tombs), sizeof(struct abi_tomb_key),
				   sizeof(struct abi_tomb), on_tombs, &walk);
	return r;
}
