/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that are looked at on behalf of a user (live_opts.access). The programs refuse to count
 * what this user may not look at (bpf/access.bpf.h); here the same is asked of what /proc says.
 *
 * A process may execute another program at any time, so that what is read by its pid may be of
 * another image. But each exec takes the image's slot from the map of pids: what was read before
 * the slot was found there is of that image, and what the user may look at now he might as well
 * have read then.
 */
#include "bpf/abi.h"
#include "memtraced.skel.h"
#include "target/process_access.h"
#include "trace/kernel/urgent.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

static bool is_current(const struct live *live, pid_t pid, uint32_t image, uint32_t *ret_slot)
{
	const struct abi_proc *proc;
	uint32_t key = (uint32_t)pid;

	if (urgent_lookup(bpf_map__fd(live->programs->skel->maps.pids), &key, ret_slot))
		return false;
	proc = shared_proc(live->programs, *ret_slot);
	return proc->image == image &&
	       __atomic_load_n(&proc->state, __ATOMIC_ACQUIRE) != ABI_PROC_ENDED;
}

bool live_is_current(const struct live *live, pid_t pid, uint32_t image)
{
	uint32_t slot;

	return is_current(live, pid, image, &slot);
}

bool live_may_show(const struct live *live, pid_t pid, uint32_t image)
{
	const struct abi_access *access = &live->opts.access;

	if (!access->limited)
		return true;
	return process_access_check(pid, access->uid, access->gid) == 0 &&
	       live_is_current(live, pid, image);
}
