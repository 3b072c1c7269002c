/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The moments of the programs: the clock of ages, and the epochs of cuts and of peaks. */
#include "trace/bpf/grace.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <time.h>

/* Of more processes, peaks are looked at with samples only. */
#define MOST_PEAKS 1024U
/* Without grace periods: a program that has read the old epoch has mostly written its change. */
#define GRACE_NS 1000000

void live_raise_epoch(struct live *live)
{
	shared_raise_cut_epoch(live->programs);
}

bool live_await_programs(struct live *live)
{
	struct timespec grace = { .tv_nsec = GRACE_NS };
	bool any_runs = false;

	vec_foreach(&live->slots.all, p)
		any_runs |= *p && !(*p)->ended;
	if (!any_runs)
		return true;
	if (live->opts.features->rows[FEATURE_GRACE_PERIOD].present && grace_wait() == 0)
		return true;
	nanosleep(&grace, NULL);
	return false;
}

void live_note_peak(const struct live *live, struct live_process *process)
{
	const struct abi_proc *proc = shared_proc(live->programs, process->slot);
	uint32_t epoch = __atomic_load_n(&proc->peak_epoch, __ATOMIC_RELAXED);

	if (epoch == process->peak.epoch)
		return;
	process->peak.epoch = epoch;
	process->peak.ns = process->ended ? process->end_ns : clock_monotonic_ns();
}

void live_note_peaks(struct live *live)
{
	vec_foreach(&live->slots.all, p)
		if (*p && !(*p)->settled)
			live_note_peak(live, *p);
}

/* Blocks that a process has counted itself may be so much older than the run: 124 days. */
#define TICKS_BEFORE (1ULL << 30)

/* Both begin where CLOCK_MONOTONIC is a multiple of it: so does a book's clock. */
uint64_t live_clock_tick(const struct live *live, uint32_t tick)
{
	uint64_t start = live->start_ns / ABI_TICK_NS;

	return (start > TICKS_BEFORE ? start - TICKS_BEFORE : 0) + tick;
}

uint32_t live_tick_of(const struct live *live, uint64_t time_ns)
{
	return (uint32_t)(time_ns / ABI_TICK_NS - live_clock_tick(live, 0));
}

static bool has_clock_of_its_own(const struct live_process *process)
{
	return process->links.book != LINKS_NO_BOOK;
}

uint64_t live_lifetime_unit_ns(const struct live *live, const struct live_process *process)
{
	bool is_fine = live->opts.run.lifetimes || has_clock_of_its_own(process);

	return is_fine ? 1U << ABI_CLOCK_SHIFT : ABI_TICK_NS;
}

/* Without a fine clock, the kernel's coarse one is a book's. */
static uint64_t coarse_ns(void)
{
	struct timespec resolution;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) ? ABI_TICK_NS :
								   (uint64_t)resolution.tv_nsec;
}

uint64_t live_lifetime_resolution_ns(const struct live *live, const struct live_process *process)
{
	uint64_t unit_ns = live_lifetime_unit_ns(live, process);

	/* What it has counted before it was found is by the coarse one. */
	if (has_clock_of_its_own(process))
		return live->opts.run.lifetimes && !process->book.found ? unit_ns : coarse_ns();
	return unit_ns == ABI_TICK_NS && live->latest_tick_ns > unit_ns ? live->latest_tick_ns :
									  unit_ns;
}

uint64_t live_lifetime_clock(const struct live *live, const struct live_process *process,
			     uint64_t time_ns)
{
	return live_lifetime_unit_ns(live, process) == ABI_TICK_NS ? live_tick_of(live, time_ns) :
								     time_ns >> ABI_CLOCK_SHIFT;
}

void live_forget_peak(const struct live *live, struct live_process *process)
{
	process->peak = (struct process_peak){
		.epoch = shared_proc(live->programs, process->slot)->peak_epoch,
	};
}

void live_tick_programs(struct live *live)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t tick = live_tick_of(live, now_ns);

	if (live->tick_ns && now_ns - live->tick_ns > live->latest_tick_ns)
		live->latest_tick_ns = now_ns - live->tick_ns;
	live->tick_ns = now_ns;
	/* A mark may be ahead by one. */
	shared_set_tick(live->programs, tick);
	if (live->opts.run.allocations && live->slots.all.len <= MOST_PEAKS)
		live_note_peaks(live);
}

void live_mark_programs(struct live *live)
{
	live_tick_programs(live);
	live->mark_tick = shared_next_tick(live->programs);
}
