/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/lifecycle/live_existing.h"

#include "base/vec.h"
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "target/glibc/glibc_heap.h"
#include "target/glibc/glibc_memory.h"
#include "target/glibc/glibc_types.h"
#include "target/hold/stop.h"
#include "target/memory.h"
#include "trace/bpf/bucket_table.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/urgent.h"
#include "trace/live/cuts/live_blocks.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

/*
 * Blocks that no program has seen go into the kernel's tables, and their site with them. The
 * process that they are of does not run; others may use the same tables meanwhile, whose protocol
 * (bpf/block_table.bpf.h) is kept.
 */
struct block_insert {
	const struct programs *programs;
	slot_t slot;
	uint16_t fn; /* the site's, which has no stack */
	uint32_t tick, era;
	uint64_t lifetime_clock; /* as of abi_site_counts.lifetimes */
	/* The result: what is in, and blocks for which there was no room. */
	uint64_t blocks, bytes, no_room;
};

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

	shared_add_room(batch->insert->programs, batch->insert->slot, added, 0);
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
	const struct abi_site_key key = { .slot = insert->slot.n, .fn = insert->fn };
	const struct abi_site site = {
		.now = { .live_bytes = (int64_t)insert->bytes,
			 .live_blocks = (int64_t)insert->blocks,
			 .lifetimes = -insert->blocks * insert->lifetime_clock },
		.peak_epoch = shared_proc(programs, insert->slot)->peak_epoch,
		.cut_epoch = programs->control->cut_epoch,
	};
	int r = urgent_add(bpf_map__fd(programs->skel->maps.sites), &key, &site);

	if (r == 0)
		shared_add_room(programs, insert->slot, 0, 1);
	return r;
}

/* Those that tracing does not know yet, of a process that has none with that fn. 0 or -errno. */
static int insert_blocks(struct block_insert *insert, const struct glibc_block *blocks, size_t n)
{
	_cleanup_free_ struct batch *batch = calloc(1, sizeof(*batch));
	int r = batch ? bucket_table_map(insert->programs, &batch->table) : -ENOMEM;

	if (r)
		return r;
	batch->insert = insert;
	batch->in_map_alone = insert->programs->stubs.cookies_fd > 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t key = ABI_BLOCK_KEY(insert->slot.n, blocks[i].addr);
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

/* --- reading them ----------------------------------------------------------------------------- */

/* Where a thread is inside the allocator it is let go on for a moment. */
#define TRIES 40
#define BETWEEN_NS 1000000
/* Words of a thread's stack that return addresses into the allocator are sought in. */
#define STACK_WORDS 48

struct reading {
	struct live *live;
	struct live_process *process;
	uint64_t limit_ns, deadline_ns;
	struct memory *memory;
	struct glibc_heap *heap;
	uint64_t inside; /* threads that are in the allocator, or of which nothing is known */
};

/*
 * System calls that an allocator makes: a thread in any other one is not inside it. One that waits
 * for an arena's lock (futex) is not looked at, since the lock says so itself.
 */
static bool may_be_allocators(long system_call)
{
	return system_call < 0 || system_call == SYS_mmap || system_call == SYS_munmap ||
	       system_call == SYS_mremap || system_call == SYS_brk || system_call == SYS_madvise ||
	       system_call == SYS_mprotect;
}

static bool is_allocators(const struct live_process *process, uint64_t addr)
{
	const struct code_range *range = code_map_find(&process->code, addr);

	return range && range->object &&
	       object_is_near_allocator(range->object, addr - range->start + range->offset);
}

/*
 * A block whose free has begun may still look like one, and one that malloc has taken out is not
 * returned yet: return addresses tell, old ones that were not overwritten among them, so that this
 * errs to one side only.
 */
static bool is_inside(const struct reading *reading, const struct stopped_thread *thread)
{
	uint64_t words[STACK_WORDS];
	ssize_t got;

	if (thread->is_exiting)
		return false;
	if (!thread->stopped)
		return !thread->has_sp || may_be_allocators(thread->system_call);
	if (!may_be_allocators(thread->system_call))
		return false;
	if (is_allocators(reading->process, thread->pc))
		return true;
	got = memory_read_some(reading->memory, thread->sp, words, sizeof(words));
	for (ssize_t i = 0; i < got / (ssize_t)sizeof(words[0]); i++)
		if (is_allocators(reading->process, words[i]))
			return true;
	return false;
}

/* While all is stopped; unless it must, not while a thread is inside. 0 or negative errno. */
static int read_heap(struct reading *reading, const struct stop *stop, bool must)
{
	size_t n;
	const struct stopped_thread *threads = stop_threads(stop, &n);
	_cleanup_free_ uint64_t *tls = calloc(n + 1, sizeof(*tls));
	struct glibc_source source;
	int r;

	if (!tls)
		return -ENOMEM;
	r = memory_new(reading->process->pid, &reading->memory);
	if (r)
		return r;
	source = glibc_source_of(reading->memory);
	source.threads = tls;
	source.deadline_ns = reading->deadline_ns;
	reading->inside = stop_running(stop);
	for (size_t i = 0; i < n; i++) {
		/* One that is not stopped is in the kernel, and goes no further than its end. */
		reading->inside -= !threads[i].stopped;
		reading->inside += is_inside(reading, &threads[i]);
		if (!threads[i].is_exiting)
			tls[source.n_threads++] = threads[i].tls;
	}
	if (reading->inside && !must)
		return 0;
	return glibc_heap_new(&source, &reading->heap);
}

static void forget_reading(struct reading *reading)
{
	glibc_heap_free(reading->heap);
	memory_free(reading->memory);
	reading->heap = NULL;
	reading->memory = NULL;
}

static bool is_wanted(const struct live *live, const struct glibc_block *block)
{
	return abi_block_is_tracked(&live->opts.run.block_filter, block->size);
}

static void drop_unwanted(const struct live *live, struct glibc_heap *heap)
{
	size_t kept = 0;

	for (size_t i = 0; i < heap->n_blocks; i++)
		if (is_wanted(live, &heap->blocks[i]))
			heap->blocks[kept++] = heap->blocks[i];
	heap->n_blocks = kept;
}

static int enter(const struct reading *reading, struct live_existing *result)
{
	struct live *live = reading->live;
	const slot_t slot = reading->process->slot;
	struct block_insert insert = { .programs = live->programs,
				       .slot = slot,
				       .fn = RECORD_BEFORE_ATTACH,
				       .tick = live->programs->control->tick,
				       .era = shared_proc(live->programs, slot)->era,
				       .lifetime_clock = live_lifetime_clock(
					       live, reading->process, clock_monotonic_ns()) };
	int r;

	drop_unwanted(live, reading->heap);
	r = insert_blocks(&insert, reading->heap->blocks, reading->heap->n_blocks);
	result->blocks = insert.blocks;
	result->bytes = insert.bytes;
	result->no_room = insert.no_room;
	if (insert.blocks)
		shared_add_older(live->programs, slot, (int64_t)insert.bytes);
	return r;
}

static void describe_existing(const struct reading *reading, struct live_existing *result)
{
	const struct glibc_heap *heap = reading->heap;

	result->arenas = heap->n_arenas;
	result->unread_bytes = heap->unread_bytes;
	result->uncertain = reading->inside + heap->locked_arenas + heap->broken_lists +
			    heap->unknown_caches + heap->no_parameters + heap->is_late;
}

static bool is_sound(const struct reading *reading)
{
	return reading->heap && !reading->inside && reading->heap->locked_arenas == 0 &&
	       reading->heap->broken_lists == 0;
}

/* One stop. 0, negative errno, or 1: a thread was in the way, and there is time for another. */
static int try_once(struct reading *reading, bool is_last, struct live_existing *result)
{
	_cleanup_(stop_free_p) struct stop *stop = NULL;
	uint64_t now = clock_monotonic_ns();
	uint64_t left = reading->deadline_ns > now ? reading->deadline_ns - now : 1;
	int r;

	/* Half of the time is for what it takes in the end. */
	is_last |= left < reading->limit_ns / 2;
	r = stop_new(reading->process->pid, left, &stop);
	if (r)
		return r;
	result->stops++;
	/* It does not end while it is stopped. */
	if (live_has_pid(reading->live, reading->process->pid, reading->process->image))
		r = read_heap(reading, stop, is_last);
	else
		r = -ESRCH;
	if (r == 0 && !is_sound(reading) && !is_last) {
		r = 1;
	} else if (r == 0) {
		describe_existing(reading, result);
		r = enter(reading, result);
	}
	forget_reading(reading);
	result->stop_ns = clock_monotonic_ns() - stop_began_ns(stop);
	return r;
}

int live_add_existing(struct live *live, pid_t pid, uint64_t max_stop_ns,
		      struct live_existing *ret_result)
{
	struct timespec between = { .tv_nsec = BETWEEN_NS };
	struct reading reading = { .live = live, .limit_ns = max_stop_ns };
	struct live_existing result = { 0 };
	slot_t slot;
	int r = live_slot_of(live, pid, &slot);

	if (r)
		return r;
	reading.process = live_process_at(live, slot);
	reading.deadline_ns = clock_monotonic_ns() + max_stop_ns;
	for (int i = 1; i <= TRIES; i++) {
		r = try_once(&reading, i == TRIES, &result);
		if (r <= 0)
			break;
		nanosleep(&between, NULL);
	}
	if (r)
		return r;
	reading.process->before.was_read = result.arenas > 0;
	reading.process->before.all =
		result.arenas && !result.unread_bytes && !result.uncertain && !result.no_room;
	reading.process->before.blocks = result.blocks;
	reading.process->before.unread_bytes = result.unread_bytes;
	if (result.unread_bytes || result.uncertain || !result.arenas)
		live_count_loss(live, reading.process, LOSS_BEFORE_UNREAD);
	for (uint64_t i = 0; i < result.no_room; i++)
		live_count_loss(live, reading.process, LOSS_BEFORE_NO_ROOM);
	*ret_result = result;
	return 0;
}

void live_existing_fork(const struct live_process *parent, struct live_process *child)
{
	child->before.all = parent->before.all;
}
