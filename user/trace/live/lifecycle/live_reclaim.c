/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ended images: when their last values have been read, and no child that inherited from them needs
 * them, what they hold in the maps and here is given back, and their slots can be used again. So a
 * storm of forks takes no more room than the processes that live at one time.
 */
#include "base/cleanup.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/bucket_table.h"
#include "trace/bpf/programs.h"
#include "trace/live/books/live_books.h"
#include "trace/live/code/live_code.h"
#include "trace/live/cuts/live_notes.h"
#include "trace/live/jobs/live_jobs.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/regions/live_regions.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/live/stacks/live_stacks.h"

#include <errno.h>
#include <string.h>

/* --- what they have left in the maps of allocations ------------------------------------------- */

struct purge {
	const bool *slots;
	size_t n_slots;
};

static bool purged(const struct purge *purge, uint32_t slot)
{
	return slot < purge->n_slots && purge->slots[slot];
}

static bool is_purged_site(const void *key, const void *userdata)
{
	return purged(userdata, ((const struct abi_site_key *)key)->slot);
}

/* Keys of blocks, tombs, shed blocks and code starts begin with a block key. */
static bool is_purged_block(const void *key, const void *userdata)
{
	return purged(userdata, ABI_BLOCK_SLOT(*(const uint64_t *)key));
}

static int purge_map(const struct bpf_map *map, bpf_batch_choose_fn choose,
		     const struct purge *purge)
{
	return bpf_batch_purge(bpf_map__fd(map), bpf_map__key_size(map), bpf_map__value_size(map),
			       choose, purge, NULL, NULL);
}

/* Nothing else changes what belongs to a process that has ended. */
static void purge_site_table(const struct programs *programs, const struct purge *purge)
{
	for (size_t i = 0; i < ABI_SITE_ENTRIES; i++) {
		struct abi_site_entry *e = &programs->sites[i];

		if (e->state != ABI_SITE_USED || !purged(purge, e->key.slot))
			continue;
		memset(&e->site, 0, sizeof(e->site));
		__atomic_store_n(&e->state, ABI_SITE_FREE, __ATOMIC_RELEASE);
	}
}

static int purge_bucket(struct abi_block_bucket *bucket, void *userdata)
{
	__u64 *key = bucket->key, *freed = bucket->freed;
	const struct purge *purge = userdata;

	for (size_t way = 0; way < ABI_BLOCK_WAYS; way++)
		if (key[way] && purged(purge, ABI_BLOCK_SLOT(key[way])))
			__atomic_store_n(&key[way], 0, __ATOMIC_RELEASE);
	for (size_t n = 0; n < ABI_BLOCK_FREED; n++)
		if (freed[n] && purged(purge, ABI_BLOCK_SLOT(freed[n])))
			__atomic_store_n(&freed[n], 0, __ATOMIC_RELEASE);
	return 0;
}

/* Buckets count what spilled into the map, so that programs know when they need not look there. */
static int purge_spilled_blocks(const struct programs *programs, const struct purge *purge)
{
	_cleanup_(bucket_table_done) struct bucket_table table = { 0 };
	const struct bpf_map *map = programs->skel->maps.blocks;
	_cleanup_free_ void *keys = NULL;
	const uint64_t *spilled;
	size_t len = 0;
	int r = bpf_batch_purge(bpf_map__fd(map), sizeof(*spilled), bpf_map__value_size(map),
				is_purged_block, purge, &keys, &len);

	if (r == 0 && len)
		r = bucket_table_map(programs, &table);
	spilled = keys;
	for (size_t i = 0; i < len / sizeof(*spilled) && r == 0; i++)
		__atomic_fetch_sub(
			&table.buckets[abi_block_bucket_index(spilled[i], table.n)].spilled, 1,
			__ATOMIC_RELAXED);
	return r;
}

/* --- tombs: blocks freed while children shared them ------------------------------------------- */

struct tomb_entry {
	struct abi_tomb_key key;
	uint32_t born, freed;
};

struct tomb_list {
	VEC(struct tomb_entry) all;
};

static void tomb_list_done(struct tomb_list *list)
{
	vec_done(&list->all);
}

static int collect_tombs(const void *keys, const void *values, size_t n, void *userdata)
{
	const struct abi_tomb_key *key = keys;
	const struct abi_tomb *tomb = values;
	struct tomb_list *list = userdata;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = vec_push(&list->all,
			     (struct tomb_entry){ key[i], tomb[i].block.era, tomb[i].freed_era });
	return r;
}

/* A fork that somebody may still look up: of which process, and when. */
struct fork_point {
	uint32_t parent, era;
};

static int compare_forks(const void *a, const void *b)
{
	const struct fork_point *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->era > y->era) - (x->era < y->era);
}

/* Of the kernel's own list: children that user space has not heard of yet are in it. */
static size_t read_forks(const struct programs *programs, const struct purge *purge,
			 struct fork_point *forks)
{
	size_t n = 0;

	for (uint32_t slot = 0; slot < programs->max_procs; slot++) {
		const struct abi_proc *proc = &programs->procs[slot];

		if (slot >= __atomic_load_n(programs->next_slot, __ATOMIC_ACQUIRE))
			break;
		if (proc->parent != ABI_NO_SLOT && !purged(purge, slot))
			forks[n++] = (struct fork_point){ proc->parent, proc->parent_era };
	}
	qsort(forks, n, sizeof(*forks), compare_forks);
	return n;
}

/* Is there a child that was forked when the block was there? */
static bool is_shared(const struct tomb_entry *tomb, const struct fork_point *forks, size_t n)
{
	const struct fork_point first = { ABI_BLOCK_SLOT(tomb->key.block), tomb->born + 1 };
	size_t low = partition_point(n, i, compare_forks(&forks[i], &first) < 0);

	return low < n && forks[low].parent == first.parent && forks[low].era <= tomb->freed;
}

/*
 * Those of purged processes, and those of which no child is left. The programs take the numbers of
 * the latter again, but never change a tomb that is there. The list was read before the forks: a
 * tomb is made after the fork that it is for.
 */
static int purge_tombs(const struct programs *programs, const struct purge *purge,
		       const struct tomb_list *tombs)
{
	int fd = bpf_map__fd(programs->skel->maps.tombs);
	_cleanup_free_ struct fork_point *forks = NULL;
	size_t n;

	if (tombs->all.len == 0)
		return 0;
	forks = calloc(programs->max_procs, sizeof(*forks));
	if (!forks)
		return -ENOMEM;
	n = read_forks(programs, purge, forks);
	vec_foreach(&tombs->all, tomb)
		if (purged(purge, ABI_BLOCK_SLOT(tomb->key.block)) ||
		    (tomb->key.n > 0 && !is_shared(tomb, forks, n)))
			bpf_batch_delete(fd, sizeof(tomb->key), &tomb->key, sizeof(tomb->key));
	return 0;
}

/*
 * The entries of these slots (slots[], by slot), which no program changes any more; and, of all
 * others, the records of freed blocks that were kept for children of which none is left. 0 or
 * negative errno.
 */
static int purge_tables(const struct programs *programs, struct purge *purge)
{
	int r = purge_map(programs->skel->maps.sites, is_purged_site, purge);

	if (r == 0)
		r = purge_spilled_blocks(programs, purge);
	if (r == 0)
		r = bucket_table_visit(programs, purge_bucket, purge);
	purge_site_table(programs, purge);
	return r ? r : purge_map(programs->skel->maps.shed, is_purged_block, purge);
}

static int purge_slots(const struct programs *programs, const bool *slots, size_t n_slots)
{
	const struct memtraced_bpf *skel = programs->skel;
	const struct bpf_map *by_block[] = { skel->maps.code_starts, skel->maps.freed_blocks,
					     skel->maps.births };
	_cleanup_(tomb_list_done) struct tomb_list tombs = {};
	struct purge purge = { slots, n_slots };
	int r = 0;

	if (programs->has_tables)
		r = bpf_batch_read(bpf_map__fd(skel->maps.tombs), sizeof(struct abi_tomb_key),
				   sizeof(struct abi_tomb), collect_tombs, &tombs);
	if (r == 0 && programs->has_tables)
		r = purge_tables(programs, &purge);
	for (size_t slot = 0; slot < n_slots && r == 0; slot++)
		if (slots[slot])
			shared_free_room(programs, (slot_t){ slot });
	for (size_t i = 0; i < sizeof(by_block) / sizeof(by_block[0]) && r == 0; i++)
		r = purge_map(by_block[i], is_purged_block, &purge);
	return r ? r : purge_tombs(programs, &purge, &tombs);
}

/* --- what is given back ----------------------------------------------------------------------- */

/* Ancestors that a child looks for inherited blocks in: MAX_ANCESTORS of bpf/block.bpf.h. */
#define ANCESTORS 6
/* Emptying reads all maps. */
#define RECLAIM_AT 64

void live_process_free(struct live_process *process)
{
	if (!process)
		return;
	code_map_done(&process->code);
	live_changes_done(process);
	live_waiting_done(process);
	live_stacks_done(process);
	live_regions_done(process);
	live_death_done(process);
	live_book_stacks_done(process);
	live_book_done(process);
	free(process);
}

int live_process_discard(struct live *live, struct live_process *process)
{
	int r = live_slot_return(live, process->slot);

	live_process_free(process);
	return r;
}

/* Has everything that it counted been handed over? */
static bool is_over(const struct live *live, const struct live_process *process)
{
	/* The programs know children in its memory by its slot. */
	if (!process->ended || process->n_in_memory)
		return false;
	if (live->opts.run.allocations && !process->settled)
		return false;
	return !live_purges_jobs(live) || process->counts.purged;
}

/* Those that are not over, and their ancestors, as far as blocks are looked up there. */
static void mark_needed(const struct live *live, bool *needed)
{
	vec_foreach(&live->slots.all, p) {
		slot_t slot;

		if (!*p || is_over(live, *p))
			continue;
		slot = (*p)->slot;
		for (int i = 0; i <= ANCESTORS && slot.n != ABI_NO_SLOT; i++) {
			needed[slot.n] = true;
			slot.n = shared_proc(live->programs, slot)->parent;
		}
	}
}

/* What is further up is given up: its slot may soon be another's. */
static void cut_lines(struct live *live, const bool *gone)
{
	vec_foreach(&live->slots.all, p) {
		uint32_t parent =
			*p ? shared_proc(live->programs, (*p)->slot)->parent : ABI_NO_SLOT;

		if (parent == ABI_NO_SLOT)
			continue;
		if (gone[(*p)->slot.n]) {
			shared_drop_sharer(live->programs, (slot_t){ parent });
		} else if (gone[parent]) {
			shared_forget_parent(live->programs, (*p)->slot);
			live_count_loss(live, *p, LOSS_ANCESTORS);
		}
	}
}

static int forget_images(struct live *live, const bool *gone)
{
	int r = 0;

	for (size_t slot = 0; slot < live->slots.all.len && r == 0; slot++) {
		struct live_process *process = live->slots.all.data[slot];

		if (!gone[slot])
			continue;
		live_forget_stacks(live, process);
		if (live->check.check)
			stack_check_forget(live->check.check, slot);
		r = live_slot_recycle(live, process->slot);
		live_process_free(process);
	}
	return r;
}

int live_reclaim(struct live *live)
{
	_cleanup_free_ bool *needed = calloc(live->slots.all.len + 1, sizeof(*needed));
	_cleanup_free_ bool *gone = calloc(live->slots.all.len + 1, sizeof(*gone));
	size_t n = 0;
	int r;

	if (!needed || !gone)
		return -ENOMEM;
	/* The end of a run: it is of no use. A process that still comes has it at the next cut. */
	if (live_running(live) == 0)
		return 0;
	mark_needed(live, needed);
	for (size_t slot = 0; slot < live->slots.all.len; slot++) {
		gone[slot] = live->slots.all.data[slot] && !needed[slot];
		n += gone[slot];
	}
	if (n == 0)
		return 0;
	cut_lines(live, gone);
	r = purge_slots(live->programs, gone, live->slots.all.len);
	if (r == 0 && live->opts.run.allocations)
		r = live_errors_purge(live, gone);
	if (r == 0)
		r = live_frees_purge(live, gone);
	if (r == 0)
		r = forget_images(live, gone);
	if (r == 0)
		live_books_end_forks(live);
	return r;
}

/* Without cuts of allocations or system calls nothing else would ask for it. */
static bool many_are_over(const struct live *live)
{
	size_t n = 0;

	if (live->opts.run.allocations || live_purges_jobs(live))
		return false;
	vec_foreach(&live->slots.all, p)
		n += *p && (*p)->ended;
	return n >= RECLAIM_AT;
}

int live_reuse(struct live *live)
{
	int r = many_are_over(live) ? live_reclaim(live) : 0;

	return r ? r : live_slots_release(live);
}
