/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/slots/live_slots.h"

#include "memtraced.skel.h"
#include "target/process_access.h"
#include "trace/kernel/urgent.h"
#include "trace/live/slots/shared_state.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int live_emit(struct live *live, const struct record *record)
{
	return live->sink.fn(record, live->sink.userdata);
}

/* --- processes by their slots ---------------------------------------------------------------- */

struct live_process *live_process_at(const struct live *live, slot_t slot)
{
	return slot.n < live->slots.all.len ? live->slots.all.data[slot.n] : NULL;
}

struct live_process *live_process_latest(const struct live *live, struct live_process *process)
{
	while (process && process->ended) {
		struct live_process *next = NULL;

		vec_foreach(&live->slots.all, p)
			if (*p && (*p)->prev_image.n == process->image.n &&
			    (*p)->pid == process->pid)
				next = *p;
		if (!next)
			break;
		process = next;
	}
	return process;
}

size_t live_running(const struct live *live)
{
	size_t n = 0;

	vec_foreach(&live->slots.all, p)
		n += *p && !(*p)->ended;
	return n;
}

pid_t live_next_pid(const struct live *live, size_t *index)
{
	while (*index < live->slots.all.len) {
		const struct live_process *process = live->slots.all.data[(*index)++];

		if (process && !process->ended && !process->placeholder)
			return process->pid;
	}
	return 0;
}

/* --- from birth to end ----------------------------------------------------------------------- */

void live_slots_begin(struct live *live)
{
	live->slots.next_image = live->programs->max_procs;
}

void live_slots_done(struct live *live)
{
	vec_done(&live->slots.all);
	slot_quarantine_done(&live->slots.quarantine);
}

/* Made just before a change, and told of after it: what it inherited is of the other kind. */
static void settle_depth(const struct live *live, const struct live_process *process)
{
	bool samples = process->depth == RECORD_DEPTH_SAMPLED;
	uint32_t parent = shared_proc(live->programs, process->slot)->parent;

	if (programs_has_samples(live->programs, process->slot.n) == samples)
		return;
	programs_set_samples(live->programs, process->slot.n, samples);
	shared_forget_parent(live->programs, process->slot);
	if (parent != ABI_NO_SLOT)
		shared_drop_sharer(live->programs, (slot_t){ parent });
}

void live_process_set_depth(struct live *live, struct live_process *process,
			    enum record_depth depth)
{
	process->depth = depth;
	settle_depth(live, process);
}

int live_process_new(struct live *live, slot_t slot, pid_t pid, const struct image_origin *origin,
		     struct live_process **ret)
{
	struct live_process *process;

	while (live->slots.all.len <= slot.n) {
		int r = vec_push(&live->slots.all, NULL);

		if (r)
			return r;
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->slot = slot;
	process->image.n = shared_proc(live->programs, slot)->image;
	process->pid = pid;
	process->prev_image = origin->replaced ? origin->replaced->image : RECORD_NO_IMAGE;
	process->root = origin->root;
	process->placeholder = origin->placeholder || origin->unwanted;
	process->unwanted = origin->unwanted;
	process->older_blocks = origin->older_blocks;
	process->exe_known = origin->exe_known;
	process->alone = origin->alone;
	process->execed_ns = origin->execed_ns;
	process->forked_ns = origin->forked_ns;
	if (origin->comm)
		live_process_set_comm(process, origin->comm);
	live_process_set_depth(live, process, live->depth);
	live->slots.all.data[slot.n] = process;
	*ret = process;
	return 0;
}

int live_process_begin(struct live *live, pid_t pid, const struct image_origin *origin,
		       struct live_process **ret)
{
	slot_t slot;
	int r = shared_take_slot(live->programs, &slot);

	if (r)
		return r;
	shared_begin(live->programs, slot, pid);
	return live_process_new(live, slot, pid, origin, ret);
}

void live_process_set_comm(struct live_process *process, const char *comm)
{
	memcpy(process->comm, comm, sizeof(process->comm));
}

void live_process_set_unwanted(struct live *live, struct live_process *process)
{
	process->placeholder = process->unwanted = true;
	shared_set_unwanted(live->programs, process->slot);
}

void live_process_set_complete(struct live_process *process)
{
	process->older_blocks = false;
}

void live_process_end(struct live_process *process, uint64_t end_ns)
{
	process->ended = true;
	process->end_ns = end_ns;
	process->settled = process->placeholder;
}

void live_process_settle(struct live_process *process)
{
	process->settled = true;
}

/* --- what is read by a pid -------------------------------------------------------------------- */

/*
 * A process may execute another program at any time, or end, and its pid become another's. But its
 * last thread takes the pid from the map of pids before it ends, and so does an exec the image's
 * slot: what was read by the pid before the slot was found there is of that image.
 *
 * Where processes are looked at on behalf of a user (run_opts.access), the programs refuse to
 * count what this user may not look at (bpf/access.bpf.h); here the same is asked of what /proc
 * says. What the user may look at now he might as well have read then.
 */
static const struct abi_proc *find_proc(const struct live *live, pid_t pid, image_t image)
{
	const struct abi_proc *proc;
	uint32_t key = (uint32_t)pid;
	slot_t slot;

	if (urgent_lookup(bpf_map__fd(live->programs->skel->maps.pids), &key, &slot.n))
		return NULL;
	proc = shared_proc(live->programs, slot);
	return proc->image == image.n ? proc : NULL;
}

bool live_has_pid(const struct live *live, pid_t pid, image_t image)
{
	return find_proc(live, pid, image) != NULL;
}

bool live_is_current(const struct live *live, pid_t pid, image_t image)
{
	const struct abi_proc *proc = find_proc(live, pid, image);

	return proc && __atomic_load_n(&proc->state, __ATOMIC_ACQUIRE) != ABI_PROC_ENDED;
}

int live_check_show(const struct live *live, pid_t pid, image_t image)
{
	const struct abi_access *access = &live->opts.run.access;
	int r = access->limited ? process_access_check(pid, access->uid, access->gid) : 0;

	if (!live_has_pid(live, pid, image))
		return -ESRCH;
	if (r == 0 && access->limited && !live_is_current(live, pid, image))
		r = -EACCES;
	return r;
}

bool live_may_show(const struct live *live, pid_t pid, image_t image)
{
	return live_check_show(live, pid, image) == 0;
}

/* --- slots that are used again --------------------------------------------------------------- */

void live_pin(struct live *live)
{
	live->slots.pins++;
}

void live_unpin(struct live *live)
{
	live->slots.pins--;
}

int live_slot_return(struct live *live, slot_t slot)
{
	live->slots.all.data[slot.n] = NULL;
	shared_clear(live->programs, slot, (image_t){ shared_proc(live->programs, slot)->image });
	return slot_quarantine_add(&live->slots.quarantine, slot);
}

int live_slot_recycle(struct live *live, slot_t slot)
{
	const bool own_links = live->slots.all.data[slot.n]->links.own;

	assert(live->slots.pins == 0);
	live->slots.all.data[slot.n] = NULL;
	live->slots.forgotten_lost += shared_proc(live->programs, slot)->lost;
	/* A slot that cookies of links know stays empty. */
	if (own_links) {
		shared_vacate(live->programs, slot);
		return 0;
	}
	shared_clear(live->programs, slot, (image_t){ live->slots.next_image++ });
	return slot_quarantine_add(&live->slots.quarantine, slot);
}

int live_slots_release(struct live *live)
{
	return slot_quarantine_release(&live->slots.quarantine,
				       bpf_map__fd(live->programs->skel->maps.free_slots),
				       clock_monotonic_ns());
}

/* --- what was lost --------------------------------------------------------------------------- */

void live_count_losses(struct live *live, const struct live_process *process, enum user_loss cause,
		       uint64_t n)
{
	live->slots.losses[cause - ABI_LOSSES] += n;
	if (process)
		shared_count_losses(live->programs, process->slot, n);
}

void live_count_loss(struct live *live, const struct live_process *process, enum user_loss cause)
{
	live_count_losses(live, process, cause, 1);
}

void live_set_loss(struct live *live, enum user_loss cause, uint64_t n)
{
	live->slots.losses[cause - ABI_LOSSES] = n;
}

void live_raise_loss(struct live *live, enum user_loss cause, uint64_t n)
{
	if (n > live->slots.losses[cause - ABI_LOSSES])
		live_set_loss(live, cause, n);
}

uint64_t live_lost(const struct live *live)
{
	uint64_t sum = live->slots.forgotten_lost;

	vec_foreach(&live->slots.all, p)
		if (*p)
			sum += shared_proc(live->programs, (*p)->slot)->lost;
	return sum;
}

int64_t live_bytes(const struct live *live)
{
	int64_t sum = 0;

	vec_foreach(&live->slots.all, p)
		if (*p && !(*p)->ended)
			sum += shared_proc(live->programs, (*p)->slot)->live_bytes;
	return sum;
}
