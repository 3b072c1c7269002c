/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ended images: when their last values have been read, and no child that inherited from them needs
 * them, what they hold in the maps and here is given back, and their slots can be used again. So a
 * storm of forks takes no more room than the processes that live at one time.
 */
#include "trace/live/books/live_books.h"
#include "trace/live/code/live_code.h"
#include "trace/live/cuts/live_notes.h"
#include "trace/live/jobs/live_jobs.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/lifecycle/purge.h"
#include "trace/live/regions/live_regions.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/live/stacks/live_stacks.h"

#include <errno.h>

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
	if (live->opts.allocations && !process->settled)
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
	if (r == 0 && live->opts.allocations)
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

	if (live->opts.allocations || live_purges_jobs(live))
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
