/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "base/clock.h"
#include "bpf/abi_heap_error.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/live/books/live_books.h"
#include "trace/live/cuts/live_blocks.h"
#include "trace/live/cuts/live_cuts.h"
#include "trace/live/slots/live_slots.h"

#include <errno.h>

/* Events wait meanwhile, so that a table of all the host's blocks must not hold them up. */
#define LIMIT_NS (2 * SECOND_NS)

struct search {
	slot_t slot;
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

static bool consider_block(struct search *search, const struct near_block *block)
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

static int find_live(struct live *live, struct search *search)
{
	_cleanup_free_ struct live_block *blocks = NULL;
	size_t n = 0;
	int r = live_blocks(live, search->slot, clock_monotonic_ns() + LIMIT_NS, &blocks, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct near_block block = { blocks[i].addr, blocks[i].size, false };

		if (!consider_block(search, &block))
			continue;
		search->record->block_fn = blocks[i].fn;
		search->record->block_stack = blocks[i].stack;
	}
	return r;
}

static void consider_freed(struct search *search, uint64_t address, const struct abi_freed *freed)
{
	const struct near_block block = { address, ABI_BLOCK_SIZE(&freed->block), true };

	if (!consider_block(search, &block))
		return;
	search->record->block_fn = ABI_BLOCK_FN(&freed->block);
	search->record->block_stack = freed->block.stack;
	search->record->freed_fn = freed->fn;
	search->record->freed_stack = freed->stack;
}

static int on_freed(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_freed *freed = values;
	struct search *search = userdata;
	const uint64_t *key = keys;

	for (size_t i = 0; i < n; i++)
		if (ABI_BLOCK_SLOT(key[i]) == search->slot.n)
			consider_freed(search, ABI_BLOCK_ADDR(key[i]), &freed[i]);
	return 0;
}

static int on_book_freed(const struct live_book_freed *freed, void *userdata)
{
	consider_freed(userdata, freed->address, &freed->value);
	return 0;
}

/* Those that --heap-errors remembers. */
static int find_freed(struct live *live, struct live_process *process, struct search *search)
{
	int r;

	if (!live->opts.run.heap_errors)
		return 0;
	r = live_book_freed(live, process, on_book_freed, search);
	return r ? r :
		   bpf_batch_read(bpf_map__fd(live->programs->skel->maps.freed_blocks),
				  sizeof(uint64_t), sizeof(struct abi_freed), on_freed, search);
}

static int find_block(struct live *live, struct live_process *process, struct search *search)
{
	uint64_t began_ns = clock_monotonic_ns();
	int r;

	/* Nor must many children that crash. */
	if (!clock_share_is_left(live->faults_paid_ns, began_ns))
		return -ETIME;
	/* Stacks of its blocks are handed over with their sites. */
	r = live_book_read_stacks(live, process);
	if (r == 0)
		r = find_live(live, search);
	if (r == 0)
		r = find_freed(live, process, search);
	live->faults_paid_ns =
		clock_share_pay(live->faults_paid_ns, began_ns, clock_monotonic_ns());
	return r;
}

int live_on_fault(struct live *live, const struct abi_ev_fault *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));
	struct record record = { .type = RECORD_FAULT,
				 .fault = { .image = process ? process->image : RECORD_NO_IMAGE,
					    .tid = ev->tid,
					    .signal = ev->signal,
					    .code = ev->code,
					    .has_addr = ev->has_addr,
					    .addr = ev->addr,
					    .stack = ev->stack,
					    .time_ns = ev->head.time_ns } };
	const struct record_fault without_block = record.fault;
	struct search search = { .slot = event_slot(&ev->head), .record = &record.fault };
	int r = 0;

	if (!process) { /* a full ring refused its beginning */
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (ev->has_addr)
		r = find_block(live, process, &search);
	if (r == -ENOMEM)
		return r;
	/* What is known is said without a block. One that is only near may not be the nearest. */
	if (r) {
		live_count_loss(live, NULL, LOSS_FAULT);
		if (search.found && near_block_distance(&search.best, ev->addr) > 0)
			record.fault = without_block;
		record.fault.unsearched = true;
	}
	return live_emit(live, &record);
}
