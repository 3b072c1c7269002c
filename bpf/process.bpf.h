/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filter: which process is this, and does this probe count for it.
 */
#ifndef MEMTRACED_PROCESS_BPF_H
#define MEMTRACED_PROCESS_BPF_H

#include "abi_sample.h"
#include "access.bpf.h"
#include "knobs.bpf.h"
#include "maps.bpf.h"
#include "registers.bpf.h"

static __always_inline struct abi_proc *proc_by_slot(__u32 slot)
{
	return bpf_map_lookup_elem(&procs, &slot);
}

static __always_inline __u32 slot_of_pid(__u32 tgid)
{
	__u32 *slot = bpf_map_lookup_elem(&pids, &tgid);

	return slot ? *slot : ABI_NO_SLOT;
}

static __always_inline __u32 current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

/* A child in the memory of a process goes on when that has ended: its calls are in no books. */
static __always_inline void count_outlived(const struct abi_proc *proc)
{
	if (proc->state == ABI_PROC_ENDED && proc->pid != current_tgid())
		count_loss(ABI_LOST_OUTLIVED);
}

/*
 * The current process if a probe with this owner counts for it, else NULL. A process is counted
 * either by its own filtered links or by the shared ones, never by both (abi_proc.owner), and only
 * while who asked may look at it.
 */
static __always_inline struct abi_proc *counted_proc(__u32 owner, __u32 *ret_slot)
{
	__u32 slot = owner ? owner - 1 : slot_of_pid(current_tgid());
	struct abi_proc *proc;

	if (slot == ABI_NO_SLOT)
		return NULL;
	proc = proc_by_slot(slot);
	if (!proc)
		return NULL;
	if (proc->state != ABI_PROC_ACTIVE || proc->owner != owner) {
		count_outlived(proc);
		return NULL;
	}
	if (!access_holds(slot))
		return NULL;
	*ret_slot = slot;
	return proc;
}

/* Are the image's blocks samples? Its allocator's calls are then not counted. */
static __always_inline bool proc_has_samples(const struct abi_proc *proc)
{
	return knob_sampled && *(volatile __u64 *)&proc->sample_interval & ABI_SAMPLE_IMAGE;
}

static __always_inline void proc_lost(struct abi_proc *proc, enum abi_loss cause)
{
	__sync_fetch_and_add(&proc->lost, 1);
	count_loss(cause);
}

/* They turn out to be none. */
static __always_inline void proc_found(struct abi_proc *proc, enum abi_loss cause, __u32 n)
{
	__sync_fetch_and_add(&proc->lost, -(__s64)n);
	count_losses(cause, -(__s64)n);
}

/*
 * Saves the peak that belongs to a cut before the first change after it. It is read before another
 * program can take it for saved and raise it, and the epoch is busy until it is written down
 * (tests/models/peak_at_cut.pml). Readers: shared_peak_at_cut().
 */
static __always_inline void proc_enter_cut(struct abi_proc *proc)
{
	__u32 cut = *(volatile __u32 *)&control.cut_epoch;
	__u32 seen = *(volatile __u32 *)&proc->cut_epoch, epoch;
	__s64 peak;

	/* A program that was preempted since may have read an epoch that is over. */
	if (seen & ABI_CUT_BUSY || (__s32)(cut - seen) <= 0)
		return;
	peak = *(volatile __s64 *)&proc->peak_bytes;
	epoch = *(volatile __u32 *)&proc->peak_epoch;
	if (!swap_once(&proc->cut_epoch, seen, cut | ABI_CUT_BUSY))
		return;
	proc->cut_peak_bytes = peak;
	proc->cut_peak_epoch = epoch;
	PUBLISH(&proc->cut_epoch, cut);
}

/* While another CPU saves it, what it is now is what it was at the cut, but for a third's raise. */
static __always_inline __u32 proc_cut_peak_epoch(const struct abi_proc *proc)
{
	return *(volatile __u32 *)&proc->cut_epoch & ABI_CUT_BUSY ?
		       *(volatile __u32 *)&proc->peak_epoch :
		       *(volatile __u32 *)&proc->cut_peak_epoch;
}

/*
 * Adds to the process's live bytes; a new maximum begins a new peak epoch. `epoch_before`: the
 * peak epoch that the caller's site change was made under; when another CPU has begun a new one in
 * between, this event's bytes may be on the wrong side of that peak, and are added to the bound.
 */
#ifdef OLD_KERNEL
/* On which side of the peak an event of another CPU in between is, cannot be known. */
static __always_inline void proc_add_bytes(struct abi_proc *proc, __s64 bytes, __u32 epoch_before)
{
	__s64 before = *(volatile __s64 *)&proc->live_bytes, live;

	__sync_fetch_and_add(&proc->live_bytes, bytes);
	live = *(volatile __s64 *)&proc->live_bytes;
	if (live != before + bytes || *(volatile __u32 *)&proc->peak_epoch != epoch_before)
		__sync_fetch_and_add(&proc->race_bytes, bytes < 0 ? -bytes : bytes);
	if (live <= *(volatile __s64 *)&proc->peak_bytes)
		return;
	*(volatile __s64 *)&proc->peak_bytes = live;
	__sync_fetch_and_add(&proc->peak_epoch, 1);
}
#else
static __always_inline void proc_add_bytes(struct abi_proc *proc, __s64 bytes, __u32 epoch_before)
{
	__s64 live = __sync_fetch_and_add(&proc->live_bytes, bytes) + bytes;
	__s64 peak;
	int i;

	if (*(volatile __u32 *)&proc->peak_epoch != epoch_before)
		__sync_fetch_and_add(&proc->race_bytes, bytes < 0 ? -bytes : bytes);
	/* Eight tries: each failure means that another CPU has just raised the peak. */
	for (i = 0; i < 8; i++) {
		peak = *(volatile __s64 *)&proc->peak_bytes;
		if (live <= peak)
			return;
		if (__sync_val_compare_and_swap(&proc->peak_bytes, peak, live) == peak) {
			__sync_fetch_and_add(&proc->peak_epoch, 1);
			return;
		}
	}
	/* It is higher than what was kept by no more than this. */
	__sync_fetch_and_add(&proc->race_bytes, live - peak);
}
#endif

#endif
