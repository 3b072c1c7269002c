/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slots of processes, and what is known of the process in each, from birth until it is freed. */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/live/live_process.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

int live_take_slot(struct live *live, uint32_t *ret_slot)
{
	const int fd = bpf_map__fd(live->programs->skel->maps.free_slots);
	uint32_t slot;

	if (bpf_map_lookup_and_delete_elem(fd, NULL, ret_slot) == 0)
		return 0;
	slot = __atomic_fetch_add(live->programs->next_slot, 1, __ATOMIC_RELAXED);
	if (slot >= live->programs->max_procs)
		return -ENOSPC;
	live->programs->procs[slot].image = slot;
	*ret_slot = slot;
	return 0;
}

/* Made just before a change, and told of after it: what it inherited is of the other kind. */
void live_depth_settle(const struct live *live, const struct live_process *process)
{
	struct abi_proc *proc = &live->programs->procs[process->slot];
	bool samples = process->depth == RECORD_DEPTH_SAMPLED;
	uint32_t parent = proc->parent;

	if (programs_has_samples(live->programs, process->slot) == samples)
		return;
	programs_set_samples(live->programs, process->slot, samples);
	__atomic_store_n(&proc->parent, ABI_NO_SLOT, __ATOMIC_RELEASE);
	if (parent != ABI_NO_SLOT)
		__atomic_sub_fetch(&live->programs->procs[parent].sharers, 1, __ATOMIC_RELAXED);
}

int live_process_new(struct live *live, uint32_t slot, pid_t pid, struct live_process **ret)
{
	struct live_process *process;

	while (live->processes.len <= slot) {
		int r = vec_push(&live->processes, NULL);

		if (r)
			return r;
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->slot = slot;
	process->image = live->programs->procs[slot].image;
	process->pid = pid;
	process->prev_image = RECORD_NO_SLOT;
	process->depth = live->depth;
	live_depth_settle(live, process);
	live->processes.data[slot] = process;
	*ret = process;
	return 0;
}

int live_process_begin(struct live *live, pid_t pid, struct live_process **ret)
{
	struct abi_proc *proc;
	uint32_t slot;
	int r = live_take_slot(live, &slot);

	if (r)
		return r;
	proc = &live->programs->procs[slot];
	proc->pid = (uint32_t)pid;
	proc->parent = ABI_NO_SLOT;
	proc->cut_epoch = live->programs->control->cut_epoch;
	__atomic_store_n(&proc->state, ABI_PROC_PENDING, __ATOMIC_RELEASE);
	return live_process_new(live, slot, pid, ret);
}

void live_process_free(struct live_process *process)
{
	if (!process)
		return;
	vec_done(&process->code);
	vec_done(&process->pending);
	vec_foreach(&process->waiting, stack)
		free(*stack);
	vec_done(&process->waiting);
	vec_done(&process->stacks);
	live_news_done(process);
	ranges_done(&process->areas);
	free(process->death);
	free(process);
}

int live_give_back_slot(struct live *live, struct live_process *process)
{
	struct abi_proc *proc = &live->programs->procs[process->slot];
	uint32_t slot = process->slot, image = proc->image;

	live->processes.data[slot] = NULL;
	live_process_free(process);
	memset(proc, 0, sizeof(*proc));
	proc->parent = ABI_NO_SLOT;
	proc->image = image;
	return slot_quarantine_add(&live->quarantine, slot);
}

int live_activate(struct live *live, struct live_process *process, uint32_t owner)
{
	struct abi_proc *proc = &live->programs->procs[process->slot];
	uint32_t pending = ABI_PROC_PENDING;

	__atomic_store_n(&proc->owner, owner, __ATOMIC_RELEASE);
	/* It may have ended meanwhile: that stays. */
	(void)__atomic_compare_exchange_n(&proc->state, &pending, ABI_PROC_ACTIVE, false,
					  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return 0;
}
