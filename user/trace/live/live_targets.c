/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that user space names: each gets a slot, and its objects are probed.
 */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "trace/kernel/urgent.h"
#include "trace/live/live_process.h"

#include <bpf/bpf.h>
#include <errno.h>

/* Takes a slot for a process that user space registers. */
static int register_process(struct live *live, pid_t pid, struct live_process **ret)
{
	uint32_t key = pid, slot;
	struct abi_proc *proc;
	int r = live_take_slot(live, &slot);

	if (r)
		return r;
	proc = &live->programs->procs[slot];
	proc->pid = pid;
	proc->parent = ABI_NO_SLOT;
	proc->cut_epoch = live->programs->control->cut_epoch;
	__atomic_store_n(&proc->state, ABI_PROC_PENDING, __ATOMIC_RELEASE);
	r = live_process_new(live, slot, pid, ret);
	if (r)
		return r;
	(*ret)->root = true;
	return urgent_add(bpf_map__fd(live->programs->skel->maps.pids), &key, &slot);
}

int live_add_child(struct live *live, pid_t pid)
{
	struct live_process *process;
	int r = register_process(live, pid, &process);

	if (r)
		return r;
	process->placeholder = true;
	return 0;
}

int live_add_process(struct live *live, pid_t pid, record_fn fn, void *userdata)
{
	struct live_process *process;
	int r = live_begin_emitting(live, fn, userdata);

	if (r)
		return r;
	r = register_process(live, pid, &process);
	if (r)
		return r;
	process->older_blocks = true;
	/* Events before the process counts are no loss: `exact` is about what follows. */
	r = live_map_process(live, process, clock_monotonic_ns(), true);
	if (r || !live->opts.allocations)
		return r;
	vec_foreach(&process->code, range)
		if (range->object && object_has_allocator(range->object))
			return 0;
	return -ENOENT;
}
