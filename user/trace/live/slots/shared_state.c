/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/slots/shared_state.h"

#include "bpf/abi.h"
#include "memtraced.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

int shared_take_slot(struct programs *programs, slot_t *ret_slot)
{
	const int fd = bpf_map__fd(programs->skel->maps.free_slots);
	slot_t slot;

	if (bpf_map_lookup_and_delete_elem(fd, NULL, &ret_slot->n) == 0)
		return 0;
	slot.n = __atomic_fetch_add(programs->next_slot, 1, __ATOMIC_RELAXED);
	if (slot.n >= programs->max_procs)
		return -ENOSPC;
	programs->procs[slot.n].image = slot.n;
	*ret_slot = slot;
	return 0;
}

void shared_begin(struct programs *programs, slot_t slot, pid_t pid)
{
	struct abi_proc *proc = &programs->procs[slot.n];

	proc->pid = (uint32_t)pid;
	proc->parent = ABI_NO_SLOT;
	proc->cut_epoch = programs->control->cut_epoch;
	__atomic_store_n(&proc->state, ABI_PROC_PENDING, __ATOMIC_RELEASE);
}

void shared_clear(struct programs *programs, slot_t slot, image_t image)
{
	struct abi_proc *proc = &programs->procs[slot.n];

	memset(proc, 0, sizeof(*proc));
	proc->parent = ABI_NO_SLOT;
	proc->image = image.n;
}

void shared_vacate(struct programs *programs, slot_t slot)
{
	programs->procs[slot.n].image = ABI_NO_SLOT;
}

void shared_activate(struct programs *programs, slot_t slot, uint32_t owner)
{
	uint32_t pending = ABI_PROC_PENDING;

	shared_set_owner(programs, slot, owner);
	/* It may have ended meanwhile: that stays. */
	(void)__atomic_compare_exchange_n(&programs->procs[slot.n].state, &pending, ABI_PROC_ACTIVE,
					  false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void shared_set_owner(struct programs *programs, slot_t slot, uint32_t owner)
{
	__atomic_store_n(&programs->procs[slot.n].owner, owner, __ATOMIC_RELEASE);
}

void shared_suspend(struct programs *programs, slot_t slot)
{
	uint32_t active = ABI_PROC_ACTIVE;

	(void)__atomic_compare_exchange_n(&programs->procs[slot.n].state, &active, ABI_PROC_PENDING,
					  false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void shared_set_unwanted(struct programs *programs, slot_t slot)
{
	__atomic_store_n(&programs->procs[slot.n].state, ABI_PROC_UNWANTED, __ATOMIC_RELEASE);
}

void shared_end(struct programs *programs, slot_t slot)
{
	__atomic_store_n(&programs->procs[slot.n].state, ABI_PROC_ENDED, __ATOMIC_RELEASE);
}

void shared_count_end(struct programs *programs)
{
	__atomic_fetch_add(&programs->control->ends, 1, __ATOMIC_RELEASE);
}

void shared_count_losses(struct programs *programs, slot_t slot, uint64_t n)
{
	__atomic_fetch_add(&programs->procs[slot.n].lost, n, __ATOMIC_RELAXED);
}

void shared_forget_parent(struct programs *programs, slot_t slot)
{
	__atomic_store_n(&programs->procs[slot.n].parent, ABI_NO_SLOT, __ATOMIC_RELEASE);
}

void shared_set_parent(struct programs *programs, slot_t slot, slot_t parent)
{
	__atomic_add_fetch(&programs->procs[parent.n].sharers, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&programs->procs[slot.n].parent, parent.n, __ATOMIC_RELEASE);
}

void shared_set_parent_era(struct programs *programs, slot_t slot, uint32_t era)
{
	programs->procs[slot.n].parent_era = era;
}

void shared_drop_sharer(struct programs *programs, slot_t slot)
{
	__atomic_sub_fetch(&programs->procs[slot.n].sharers, 1, __ATOMIC_RELAXED);
}

void shared_add_older(struct programs *programs, slot_t slot, int64_t bytes)
{
	struct abi_proc *proc = &programs->procs[slot.n];
	int64_t live = __atomic_add_fetch(&proc->live_bytes, bytes, __ATOMIC_SEQ_CST);

	__atomic_store_n(&proc->peak_bytes, live, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&proc->peak_epoch, 1, __ATOMIC_SEQ_CST);
}

void shared_set_stacks_full(struct programs *programs, slot_t slot)
{
	__atomic_store_n(&programs->procs[slot.n].stacks_full, 1, __ATOMIC_RELAXED);
}

/* A program that was stopped while it saves the peak goes on when its CPU does. */
#define SAVED_TRIES 1000

struct peak_at_cut shared_peak_at_cut(const struct abi_proc *proc, uint32_t cut)
{
	struct peak_at_cut now;
	uint32_t epoch;

	for (unsigned int i = 0;; i++) {
		/* Before the epoch: a peak that was not saved by then was not raised. */
		now.bytes = __atomic_load_n(&proc->peak_bytes, __ATOMIC_RELAXED);
		now.epoch = __atomic_load_n(&proc->peak_epoch, __ATOMIC_ACQUIRE);
		epoch = __atomic_load_n(&proc->cut_epoch, __ATOMIC_ACQUIRE);
		if (epoch == cut)
			return (struct peak_at_cut){ proc->cut_peak_bytes, proc->cut_peak_epoch };
		if (epoch != (cut | ABI_CUT_BUSY) || i == SAVED_TRIES)
			return now;
		sched_yield();
	}
}

void shared_set_totals(struct programs *programs, slot_t slot, uint32_t cut,
		       const struct shared_totals *totals)
{
	struct abi_proc *proc = &programs->procs[slot.n];

	/* No program counts for it. */
	proc->live_bytes = totals->live_bytes;
	proc->peak_bytes = proc->cut_peak_bytes = totals->peak_bytes;
	proc->peak_epoch = proc->cut_peak_epoch = totals->peak_epoch;
	proc->cut_epoch = cut;
	proc->race_bytes = totals->race_bytes;
	proc->failed = totals->failed;
	proc->unknown_frees = totals->unknown_frees;
}

uint32_t shared_code_epoch(const struct programs *programs, slot_t slot)
{
	return __atomic_load_n(&programs->procs[slot.n].code_epoch, __ATOMIC_RELAXED);
}

uint32_t shared_new_code_epoch(struct programs *programs, slot_t slot)
{
	return ABI_WATCHED_EPOCH(
		__atomic_add_fetch(&programs->procs[slot.n].code_epochs, 1, __ATOMIC_RELAXED));
}

void shared_replace_code_epoch(struct programs *programs, slot_t slot, uint32_t from, uint32_t to)
{
	(void)__atomic_compare_exchange_n(&programs->procs[slot.n].code_epoch, &from, to, false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void shared_add_room(const struct programs *programs, slot_t slot, uint32_t spilled, uint32_t sites)
{
	struct abi_room *own = &programs->rooms[slot.n], *all = programs->room_of_all;

	__atomic_add_fetch(&all->spilled, spilled, __ATOMIC_RELAXED);
	__atomic_add_fetch(&own->spilled, spilled, __ATOMIC_RELAXED);
	__atomic_add_fetch(&all->sites, sites, __ATOMIC_RELAXED);
	__atomic_add_fetch(&own->sites, sites, __ATOMIC_RELAXED);
}

void shared_free_room(const struct programs *programs, slot_t slot)
{
	struct abi_room *own = &programs->rooms[slot.n], *all = programs->room_of_all;

	__atomic_sub_fetch(&all->sites, own->sites, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&all->spilled, own->spilled, __ATOMIC_RELAXED);
	own->sites = own->spilled = 0;
}

void shared_free_stack_room(const struct programs *programs, slot_t slot)
{
	struct abi_room *own = &programs->rooms[slot.n], *all = programs->room_of_all;

	__atomic_sub_fetch(&all->stacks, own->stacks, __ATOMIC_RELAXED);
	own->stacks = 0;
}

void shared_set_hold(struct programs *programs, bool hold)
{
	programs->control->hold = hold;
}

void shared_set_links(struct programs *programs, bool shared)
{
	__atomic_store_n(&programs->control->shared, shared, __ATOMIC_RELEASE);
}

void shared_leave_out(struct programs *programs, pid_t keeper, pid_t opener)
{
	programs->control->keeper = (uint32_t)keeper;
	programs->control->opener = (uint32_t)opener;
}

void shared_set_tick(struct programs *programs, uint32_t tick)
{
	if (tick > programs->control->tick)
		programs->control->tick = tick;
}

uint32_t shared_next_tick(struct programs *programs)
{
	return ++programs->control->tick;
}

void shared_raise_cut_epoch(struct programs *programs)
{
	__atomic_fetch_add(&programs->control->cut_epoch, ABI_CUT_STEP, __ATOMIC_SEQ_CST);
}
