/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/block_walk.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/bucket_table.h"
#include "trace/bpf/programs.h"
#include "trace/live/books/live_books.h"

#include <errno.h>
#include <stdlib.h>

/* Buckets between two looks at the clock: some 50 us where all are new to us. */
#define BUCKETS_EACH 256

/* A live block that children may share: whether it has a tomb is known later. */
struct shared_block {
	uint64_t key;
	struct abi_block block;
};

struct tomb {
	uint64_t key;
	struct abi_block block;
	uint32_t freed_era;
	bool was_live; /* when the table was read */
};

struct walk {
	const struct block_walk_opts *opts;
	size_t buckets;		      /* visited */
	bool spilled;		      /* by one of them at least */
	const struct abi_proc *procs; /* NULL: blocks that were freed are not wanted */
	struct live *live;
	uint32_t slot, era; /* of the process whose book is read, */
	uint64_t left_out;  /* and of what is in it */
	VEC(struct shared_block) shared;
	VEC(struct tomb) tombs;
};

static void walk_done(struct walk *walk)
{
	vec_done(&walk->shared);
	vec_done(&walk->tombs);
}

static int check_time(const struct walk *walk)
{
	uint64_t deadline_ns = walk->opts->deadline_ns;

	return deadline_ns && clock_monotonic_ns() > deadline_ns ? -ETIME : 0;
}

/* era: forks of its process so far. */
static int add_live(struct walk *walk, uint64_t key, const struct abi_block *block, uint32_t era)
{
	/* A child that is forked from now on is in no list of the caller's. */
	if (walk->procs && block->era < era)
		return vec_push(&walk->shared, (struct shared_block){ key, *block });
	return walk->opts->fn(&(struct walked_block){ key, block, BLOCK_LIVE },
			      walk->opts->userdata);
}

static int add_counted(struct walk *walk, uint64_t key, const struct abi_block *block)
{
	return add_live(walk, key, block, walk->procs ? walk->procs[ABI_BLOCK_SLOT(key)].era : 0);
}

static int on_blocks(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_block *block = values;
	struct walk *walk = userdata;
	const uint64_t *key = keys;
	int r = check_time(walk);

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_counted(walk, key[i], &block[i]);
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
			r = add_counted(walk, key, &block);
	}
	return r;
}

static int on_tombs(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_tomb_key *key = keys;
	const struct abi_tomb *tomb = values;
	struct walk *walk = userdata;
	int r = check_time(walk);

	for (size_t i = 0; i < n && r == 0; i++)
		if (key[i].n != 0)
			r = vec_push(&walk->tombs, (struct tomb){ .key = key[i].block,
								  .block = tomb[i].block,
								  .freed_era = tomb[i].freed_era });
	return r;
}

/* Two blocks of one address that both have tombs differ in their era: a fork came between. */
static int compare_blocks(const void *a, const void *b)
{
	const struct tomb *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->block.era > y->block.era) - (x->block.era < y->block.era);
}

/* Tombs of one block become one, which holds for the children of all. */
static void merge_tombs(struct walk *walk)
{
	struct tomb *tombs = walk->tombs.data;
	size_t kept = 0;

	if (walk->tombs.len)
		qsort(tombs, walk->tombs.len, sizeof(*tombs), compare_blocks);
	for (size_t i = 0; i < walk->tombs.len; i++) {
		if (kept == 0 || compare_blocks(&tombs[kept - 1], &tombs[i]) != 0)
			tombs[kept++] = tombs[i];
		else if (tombs[kept - 1].freed_era < tombs[i].freed_era)
			tombs[kept - 1].freed_era = tombs[i].freed_era;
	}
	walk->tombs.len = kept;
}

static struct tomb *find_tomb(const struct walk *walk, const struct shared_block *shared)
{
	const struct tomb key = { .key = shared->key, .block = shared->block };

	return walk->tombs.len ? bsearch(&key, walk->tombs.data, walk->tombs.len, sizeof(key),
					 compare_blocks) :
				 NULL;
}

/*
 * Each shared block once, although its owner may have freed it between the readings of the table
 * and of the tombs. The tomb was added before the block was removed (bpf/block.bpf.h): a block that
 * is in neither was not there, and the copy of a live block that has no tomb is whole.
 */
static int emit_shared(struct walk *walk)
{
	int r = 0;

	merge_tombs(walk);
	vec_foreach(&walk->shared, shared) {
		struct tomb *tomb = find_tomb(walk, shared);

		if (tomb)
			tomb->was_live = true;
		if (r == 0)
			r = walk->opts->fn(&(struct walked_block){ shared->key,
								   tomb ? &tomb->block :
									  &shared->block,
								   BLOCK_LIVE },
					   walk->opts->userdata);
	}
	vec_foreach(&walk->tombs, tomb)
		if (r == 0 && !tomb->was_live)
			r = walk->opts->fn(&(struct walked_block){ tomb->key, &tomb->block,
								   tomb->freed_era },
					   walk->opts->userdata);
	return r;
}

/* --- books ----------------------------------------------------------------------------------- */

/* A table that grows is read again; after so many times it is taken as it was read. */
#define BOOK_TRIES 4

/* For one more copy? */
static bool has_room(struct walk *walk)
{
	if (walk->shared.len + walk->tombs.len < walk->live->opts.run.room.copies)
		return true;
	walk->left_out++;
	return false;
}

static int on_book_block(const struct live_book_block *told, void *userdata)
{
	struct walk *walk = userdata;

	if (told->is_shed || (walk->procs && told->block.era < walk->era && !has_room(walk)))
		return 0;
	return add_live(walk, ABI_BLOCK_KEY(walk->slot, told->address), &told->block, walk->era);
}

static int on_book_tomb(const struct live_book_block *told, void *userdata)
{
	struct walk *walk = userdata;

	if (!has_room(walk))
		return 0;
	return vec_push(&walk->tombs,
			(struct tomb){ .key = ABI_BLOCK_KEY(walk->slot, told->address),
				       .block = told->block,
				       .freed_era = told->freed_era });
}

static int walk_book(struct walk *walk, struct live_process *process)
{
	size_t shared = walk->shared.len;
	int r = -EAGAIN;

	walk->slot = process->slot.n;
	walk->era = walk->procs ? live_book_era(process) : 0;
	for (unsigned int i = 0; i < BOOK_TRIES && r == -EAGAIN; i++) {
		if (i > 0)
			walk->opts->forget(walk->slot, walk->opts->userdata);
		walk->shared.len = shared;
		walk->left_out = 0;
		r = live_book_blocks(walk->live, process, walk->opts->deadline_ns, on_book_block,
				     walk);
	}
	if (r == -EAGAIN)
		r = 0;
	if (r == 0 && walk->procs)
		r = live_book_tombs(walk->live, process, walk->opts->deadline_ns, on_book_tomb,
				    walk);
	live_book_count_left_out(walk->live, process, walk->left_out);
	return r;
}

static int walk_books(struct walk *walk)
{
	int r = 0;

	vec_foreach(&walk->live->slots.all, p)
		if (r == 0 && *p && (*p)->book.book && !(*p)->placeholder)
			r = walk_book(walk, *p);
	return r;
}

int block_walk(struct live *live, const struct block_walk_opts *opts)
{
	const struct programs *programs = live->programs;
	const struct memtraced_bpf *skel = programs->skel;
	_cleanup_(walk_done) struct walk walk = {
		.opts = opts, .live = live, .procs = opts->with_freed ? programs->procs : NULL
	};
	int r = bucket_table_visit(programs, on_bucket, &walk);

	/* To find the map empty takes 2 ms. */
	if (r == 0 && programs->has_tables && (walk.spilled || programs->stubs.cookies_fd > 0))
		r = bpf_batch_read(bpf_map__fd(skel->maps.blocks), sizeof(uint64_t),
				   sizeof(struct abi_block), on_blocks, &walk);
	if (r == 0)
		r = walk_books(&walk);
	/* After the blocks. */
	if (r == 0 && programs->has_tables && opts->with_freed)
		r = bpf_batch_read(bpf_map__fd(skel->maps.tombs), sizeof(struct abi_tomb_key),
				   sizeof(struct abi_tomb), on_tombs, &walk);
	return r ? r : emit_shared(&walk);
}
