/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/live_fault.h"

#include "base/clock.h"
#include "base/hashmap.h"
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "target/fault.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/live/live_blocks.h"
#include "trace/live/live_process.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>

static_assert(sizeof(((struct fault *)NULL)->exact) == RECORD_EXACT_WORDS * sizeof(uint64_t),
	      "as many frames as a stack may have");

/* The process does not end before, so that a table of all the host's blocks must not hold it up. */
#define LIMIT_NS 2000000000ULL

struct search {
	uint32_t slot;
	bool found;
	struct near_block best;
	struct record_fault *record;
};

uint64_t near_block_distance(const struct near_block *block, uint64_t addr)
{
	uint64_t size = block->size ? block->size : 1, distance;

	if (addr >= block->addr && addr - block->addr < size)
		return 0;
	distance = addr < block->addr ? block->addr - addr : addr - block->addr - size + 1;
	return distance <= LIVE_FAULT_NEAR ? distance : UINT64_MAX;
}

bool near_block_is_better(const struct near_block *a, const struct near_block *b, uint64_t addr)
{
	uint64_t of_a = near_block_distance(a, addr), of_b = near_block_distance(b, addr);

	return of_a != of_b ? of_a < of_b : b->freed && !a->freed;
}

static bool take(struct search *search, const struct near_block *block)
{
	uint64_t addr = search->record->addr;

	if (near_block_distance(block, addr) == UINT64_MAX ||
	    (search->found && !near_block_is_better(block, &search->best, addr)))
		return false;
	search->found = true;
	search->best = *block;
	search->record->block = block->addr;
	search->record->block_size = block->size;
	search->record->freed = block->freed;
	return true;
}

static int find_live(const struct live *live, struct search *search)
{
	_cleanup_free_ struct live_block *blocks = NULL;
	size_t n = 0;
	int r = live_blocks(live, search->slot, clock_monotonic_ns() + LIMIT_NS, &blocks, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct near_block block = { blocks[i].addr, blocks[i].size, false };

		if (!take(search, &block))
			continue;
		search->record->block_fn = blocks[i].fn;
		search->record->block_stack = blocks[i].stack;
	}
	return r;
}

static int on_freed(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_freed *freed = values;
	struct search *search = userdata;
	const uint64_t *key = keys;

	for (size_t i = 0; i < n; i++) {
		const struct near_block block = { ABI_BLOCK_ADDR(key[i]),
						  ABI_BLOCK_SIZE(&freed[i].block), true };

		if (ABI_BLOCK_SLOT(key[i]) != search->slot || !take(search, &block))
			continue;
		search->record->block_fn = ABI_BLOCK_FN(&freed[i].block);
		search->record->block_stack = freed[i].block.stack;
		search->record->freed_fn = freed[i].fn;
		search->record->freed_stack = freed[i].stack;
	}
	return 0;
}

/* Those that --heap-errors remembers. */
static int find_freed(const struct live *live, struct search *search)
{
	if (!live->opts.heap_errors)
		return 0;
	return bpf_batch_read(bpf_map__fd(live->programs->skel->maps.freed_blocks),
			      sizeof(uint64_t), sizeof(struct abi_freed), on_freed, search);
}

static int emit_stack(const struct fault *fault, struct record_fault *record, record_fn fn,
		      void *userdata)
{
	struct record stack = { .type = RECORD_STACK,
				.stack = { .slot = record->slot,
					   .time_ns = record->time_ns,
					   .truncated = !fault->whole,
					   .frames = fault->frames,
					   .n_frames = fault->n_frames,
					   .interrupted = true } };

	if (fault->n_frames == 0)
		return 0;
	for (size_t i = 0; i < RECORD_EXACT_WORDS; i++)
		stack.stack.exact[i] = fault->exact[i];
	/* Those of the programs have another seed. */
	stack.stack.id = hash_bytes(fault->frames, fault->n_frames * sizeof(fault->frames[0]),
				    record->time_ns ^ record->slot);
	record->stack = stack.stack.id;
	return fn(&stack, userdata);
}

int live_report_fault(const struct live *live, pid_t pid, pid_t tid, const struct fault *fault,
		      record_fn fn, void *userdata)
{
	struct record record = { .type = RECORD_FAULT,
				 .fault = { .tid = (uint32_t)tid,
					    .signal = fault->signal,
					    .code = fault->code,
					    .has_addr = fault->has_addr,
					    .addr = fault->addr,
					    .time_ns = clock_monotonic_ns() } };
	struct search search = { .record = &record.fault };
	int r = live_slot_of(live, pid, &search.slot);

	if (r < 0)
		return r;
	record.fault.slot = live_image_of(live, search.slot);
	if (fault->has_addr)
		r = find_live(live, &search);
	if (fault->has_addr && r == 0)
		r = find_freed(live, &search);
	/* What is known is said without a block, too. */
	if (r == -ENOMEM)
		return r;
	r = emit_stack(fault, &record.fault, fn, userdata);
	return r ? r : fn(&record, userdata);
}
