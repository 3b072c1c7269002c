/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ended images: when their last values have been read, and no child that inherited from them needs
 * them, what they hold in the maps and here is given back, and their slots can be used again. So a
 * storm of forks takes no more room than the processes that live at one time.
 */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/live/cuts/live_errors.h"
#include "trace/live/cuts/live_frees.h"
#include "trace/live/lifecycle/purge.h"
#include "trace/live/live_process.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

/* Ancestors that a child looks for inherited blocks in: MAX_ANCESTORS of bpf/block.bpf.h. */
#define ANCESTORS 6
/* Emptying reads all maps. */
#define RECLAIM_AT 64

/* Has everything that it counted been handed over? */
static bool is_over(const struct live *live, const struct live_process *process)
{
	if (!process->ended)
		return false;
	if (live->opts.allocations && !process->settled)
		return false;
	return !live_purges_jobs(live) || process->counts_purged;
}

/* Those that are not over, and as far as can be looked up whom they inherited from. */
static void mark_needed(const struct live *live, bool *needed)
{
	vec_foreach(&live->processes, p) {
		uint32_t slot;

		if (!*p || is_over(live, *p))
			continue;
		slot = (*p)->slot;
		for (int i = 0; i <= ANCESTORS && slot != ABI_NO_SLOT; i++) {
			needed[slot] = true;
			slot = live->programs->procs[slot].parent;
		}
	}
}

/* What is further up is given up: its slot may soon be another's. */
static void cut_lines(struct live *live, const bool *gone)
{
	vec_foreach(&live->processes, p) {
		struct abi_proc *proc = *p ? &live->programs->procs[(*p)->slot] : NULL;
		uint32_t parent = proc ? proc->parent : ABI_NO_SLOT;

		if (parent == ABI_NO_SLOT)
			continue;
		if (gone[(*p)->slot]) {
			__atomic_sub_fetch(&live->programs->procs[parent].sharers, 1,
					   __ATOMIC_RELAXED);
		} else if (gone[parent]) {
			__atomic_store_n(&proc->parent, ABI_NO_SLOT, __ATOMIC_RELEASE);
			live_count_loss(live, *p, LOSS_ANCESTORS);
		}
	}
}

/* Ids hold the image's number: they do not come back. Counts of events may still name them. */
static void forget_stacks(struct live *live, struct live_process *process)
{
	struct abi_room *own = &live->programs->rooms[process->slot];

	if (live->n_events && !live->opts.forget_ended)
		return;
	bpf_batch_delete(bpf_map__fd(live->programs->skel->maps.stacks), sizeof(uint64_t),
			 process->stacks.data, process->stacks.len * sizeof(uint64_t));
	__atomic_sub_fetch(&live->programs->room_of_all->stacks, own->stacks, __ATOMIC_RELAXED);
	own->stacks = 0;
	vec_foreach(&process->stacks, id) {
		const struct live_stack key = { .id = *id };

		free(hashmap_remove(live->stacks, &key));
	}
}

/* A slot that cookies of links know stays empty. */
static int empty_slot(struct live *live, struct live_process *process)
{
	struct abi_proc *proc = &live->programs->procs[process->slot];

	live->forgotten_lost += proc->lost;
	if (process->own_links)
		return 0;
	memset(proc, 0, sizeof(*proc));
	proc->parent = ABI_NO_SLOT;
	proc->image = live->next_image++;
	return slot_quarantine_add(&live->quarantine, process->slot);
}

static int forget(struct live *live, const bool *gone)
{
	int r = 0;

	for (size_t slot = 0; slot < live->processes.len && r == 0; slot++) {
		struct live_process *process = live->processes.data[slot];

		if (!gone[slot])
			continue;
		forget_stacks(live, process);
		if (live->check.check)
			stack_check_forget(live->check.check, slot);
		r = empty_slot(live, process);
		live->processes.data[slot] = NULL;
		live_process_free(process);
	}
	return r;
}

int live_reclaim(struct live *live)
{
	_cleanup_free_ bool *needed = calloc(live->processes.len + 1, sizeof(*needed));
	_cleanup_free_ bool *gone = calloc(live->processes.len + 1, sizeof(*gone));
	size_t n = 0;
	int r;

	if (!needed || !gone)
		return -ENOMEM;
	/* The end of a run: nobody could use it. Who comes all the same has it at the next cut. */
	if (live_running(live) == 0)
		return 0;
	mark_needed(live, needed);
	for (size_t slot = 0; slot < live->processes.len; slot++) {
		gone[slot] = live->processes.data[slot] && !needed[slot];
		n += gone[slot];
	}
	if (n == 0)
		return 0;
	cut_lines(live, gone);
	r = purge_slots(live->programs, gone, live->processes.len);
	if (r == 0 && live->opts.allocations)
		r = live_errors_purge(live, gone);
	if (r == 0)
		r = live_frees_purge(live, gone);
	return r ? r : forget(live, gone);
}

/* Without cuts of allocations or system calls nobody else would ask for it. */
static bool many_are_over(const struct live *live)
{
	size_t n = 0;

	if (live->opts.allocations || live_purges_jobs(live))
		return false;
	vec_foreach(&live->processes, p)
		n += *p && (*p)->ended;
	return n >= RECLAIM_AT;
}

int live_reuse(struct live *live)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.free_slots);
	int r = many_are_over(live) ? live_reclaim(live) : 0;

	return r ? r : slot_quarantine_release(&live->quarantine, fd, clock_monotonic_ns());
}
