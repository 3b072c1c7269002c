/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The moments of the programs: the clock of ages, and the epochs of cuts and of peaks. */
#include "trace/bpf/grace.h"
#include "trace/live/live_process.h"

#include <time.h>

/* Of more processes, peaks are looked at with samples only. */
#define MOST_PEAKS 1024U

void live_raise_epoch(struct live *live)
{
	__atomic_fetch_add(&live->programs->control->cut_epoch, ABI_CUT_STEP, __ATOMIC_SEQ_CST);
}

bool live_await_programs(struct live *live)
{
	struct timespec grace = { .tv_nsec = CUT_GRACE_NS };
	bool any_runs = false;

	vec_foreach(&live->processes, p)
		any_runs |= *p && !(*p)->ended;
	if (!any_runs)
		return true;
	if (live->opts.features->rows[FEATURE_GRACE_PERIOD].present && grace_wait() == 0)
		return true;
	nanosleep(&grace, NULL);
	return false;
}

void live_begin_cut(struct live *live)
{
	if (live->opts.allocations)
		live_raise_epoch(live);
	live->cut_begun = true;
}

void live_note_peaks(struct live *live)
{
	uint64_t now = clock_monotonic_ns();

	vec_foreach(&live->processes, p) {
		struct live_process *process = *p;
		const struct abi_proc *proc;
		uint32_t epoch;

		if (!process || process->settled)
			continue;
		proc = &live->programs->procs[process->slot];
		epoch = __atomic_load_n(&proc->peak_epoch, __ATOMIC_RELAXED);
		if (epoch == process->peak_epoch)
			continue;
		process->peak_epoch = epoch;
		process->peak_ns =
			process->ended ? live->start_ns + process->end_tick * ABI_TICK_NS : now;
	}
}

void live_tick(struct live *live)
{
	uint32_t tick = (clock_monotonic_ns() - live->start_ns) / ABI_TICK_NS;

	/* A mark may be ahead by one. */
	if (tick > live->programs->control->tick)
		live->programs->control->tick = tick;
	if (live->opts.allocations && live->processes.len <= MOST_PEAKS)
		live_note_peaks(live);
}
