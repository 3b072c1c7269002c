/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of depth while processes run. Their sums cannot go on: frees that were not seen would
 * stay live in them for good. So an image ends, as it does at an exec, with what it held then, and
 * the process goes on as another one, of another depth. Probes go first and come last; in between
 * nothing is counted.
 */
#include "bpf/abi.h"
#include "bpf/abi_sample.h"
#include "memtraced.skel.h"
#include "trace/bpf/run_stats.h"
#include "trace/kernel/urgent.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <bpf/bpf.h>
#include <errno.h>

/* abi_proc.owner of an image of which nothing is counted: no link has this number. */
#define OWNER_NOBODY ABI_COOKIE_OWNER(~0ULL)

enum record_depth live_depth(const struct live *live)
{
	return live->depth;
}

int live_run_stats(const struct live *live, struct run_stats *ret_stats)
{
	return run_stats_read(live->programs, ret_stats);
}

bool live_has_samples(const struct live *live)
{
	vec_foreach(&live->slots.all, p) {
		if (!*p || (*p)->ended || (*p)->placeholder)
			continue;
		vec_foreach(&(*p)->code.ranges, range)
			if (range->object && object_has_samples(range->object))
				return true;
	}
	return false;
}

static int change_image(struct live *live, struct live_process *old, uint64_t time_ns)
{
	const int pids = bpf_map__fd(live->programs->skel->maps.pids);
	const struct image_origin origin = { .root = old->root,
					     .replaced = old,
					     .older_blocks = true,
					     .exe_known = true,
					     .execed_ns = old->execed_ns,
					     .comm = old->comm };
	struct live_process *process;
	uint32_t key = (uint32_t)old->pid, slot;
	int r;

	if (urgent_lookup(pids, &key, &slot) || slot != old->slot.n)
		return 0; /* it has ended, or executes another program: an event will tell */
	r = live_process_begin(live, old->pid, &origin, &process);
	if (r == -ENOSPC) {
		live_count_loss(live, old, LOSS_STATE);
		return 0;
	}
	if (r)
		return r;
	/*
	 * It may have executed a program since it was looked up, or be about to: the event names
	 * `old` then, and finds this one by it (live_process_latest, restore_pid).
	 */
	if (bpf_map_update_elem(pids, &key, &process->slot, BPF_EXIST))
		return live_process_discard(live, process); /* it has just ended */
	shared_end(live->programs, old->slot);
	shared_count_end(live->programs);
	r = live_end_image(live, old, RECORD_END_DEPTH, 0, time_ns);
	if (r)
		return r;
	r = live_map_process(live, process, time_ns, true);
	if (r == -ESRCH) /* ended meanwhile: an event will tell */
		r = 0;
	if (r == 0 && live->depth == RECORD_DEPTH_GROWTH)
		shared_set_owner(live->programs, process->slot, OWNER_NOBODY);
	return r;
}

/* What waits for its exec, or is only followed, has nothing in the books. */
static int change_images(struct live *live, uint64_t time_ns)
{
	const size_t n = live->slots.all.len;
	int r = 0;

	live_pin(live);
	for (size_t slot = 0; slot < n && r == 0; slot++) {
		struct live_process *process = live->slots.all.data[slot];

		if (!process || process->ended || process->depth == live->depth)
			continue;
		if (!process->placeholder) {
			r = change_image(live, process, time_ns);
			continue;
		}
		live_process_set_depth(live, process, live->depth);
	}
	live_unpin(live);
	return r;
}

/*
 * From now on no image counts, all at one moment: probes go one after the other, and frees that
 * are not seen any more while allocations still are would leave blocks live.
 */
static void stop_counting(struct live *live)
{
	vec_foreach(&live->slots.all, p)
		if (*p && !(*p)->ended)
			shared_suspend(live->programs, (*p)->slot);
}

int live_set_depth(struct live *live, const struct record_depth_change *change, record_fn fn,
		   void *userdata)
{
	const struct record record = { .type = RECORD_DEPTH, .depth_change = *change };
	int r = source_drain(&live->source, fn, userdata);

	if (r < 0)
		return r;
	programs_double_interval(live->programs, change->doublings);
	if (change->depth == live->depth)
		return live_emit(live, &record);
	live->depth = change->depth;
	stop_counting(live);
	objects_detach(live->objects);
	/* What programs were about to count when they were told is in by then. */
	(void)live_await_programs(live);
	objects_set_depth(live->objects, change->depth);
	programs_want_samples(live->programs, change->depth == RECORD_DEPTH_SAMPLED);
	r = live_trace_calls(live);
	if (r == 0)
		r = live_emit(live, &record);
	if (r == 0)
		r = objects_publish_all(live->objects);
	/* What began under the old depth is told of before it is changed. */
	if (r == 0)
		r = source_drain(&live->source, fn, userdata);
	if (r >= 0)
		r = change_images(live, change->time_ns);
	return r ? r : objects_publish_all(live->objects);
}

/*
 * A sample of `weight` bytes of blocks of `size` stands for weight / size allocations, of which
 * each is taken to be freed, too.
 */
uint64_t live_sampled_calls(const struct live *live)
{
	uint64_t parts;

	return programs_sampled_allocs(live->programs, &parts) ?
		       0 :
		       parts >> (ABI_SAMPLE_BLOCK_SHIFT - 1);
}
