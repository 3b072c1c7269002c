/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples: a cut of the counts alone, again and again over the run. Totals are of all sites, but
 * only those that hold most get a record of their own, which bounds what a sample takes. Where
 * allocations are not counted, it is what the kernel says of processes, of so many at most.
 */
#include "trace/live/books/live_books.h"
#include "trace/live/cuts/live_cuts.h"
#include "trace/live/cuts/snapshot.h"
#include "trace/live/slots/live_slots.h"

#include <errno.h>

#define MOST_SITES 1024U

static bool is_sampled(const struct live_process *process)
{
	return process && !process->placeholder && !process->ended;
}

static int snapshot_of_sampled(struct live *live, struct snapshot **ret_snapshot)
{
	size_t n = live->slots.all.len;
	_cleanup_free_ struct snapshot_process *processes = calloc(n + 1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	for (size_t slot = 0; slot < n; slot++) {
		processes[slot].slot = slot;
		processes[slot].wanted = is_sampled(live->slots.all.data[slot]);
		processes[slot].process = live->slots.all.data[slot];
	}
	return snapshot_new(live, processes, n, false, 0, ret_snapshot);
}

/* `sites`: those of the process, n of them. */
static int emit_process(struct live *live, struct live_process *process,
			const struct snapshot_site *sites, size_t n)
{
	struct record record = { .type = RECORD_SAMPLE_PROCESS };
	struct record_sample_process *sample = &record.sample_process;
	uint64_t missed_frees = 0;

	sample->image = process->image;
	for (size_t i = 0; i < n; i++) {
		sample->live_bytes += sites[i].counts.live_bytes;
		sample->live_blocks += sites[i].counts.live_blocks;
		sample->allocs += sites[i].counts.allocs;
		sample->bytes += sites[i].counts.bytes;
		missed_frees += sites[i].counts.missed_frees;
	}
	/* Of a forked child the blocks that it inherited and freed are below 0 here. */
	sample->frees = sample->allocs + (int64_t)process->before.blocks - sample->live_blocks -
			missed_frees;
	live_usage_read(live->usage, process->pid, &process->usage.clock, sample);
	return live_emit(live, &record);
}

static int emit_processes(struct live *live, const struct snapshot_site *sites, size_t n)
{
	size_t at = 0;

	for (size_t slot = 0; slot < live->slots.all.len; slot++) {
		struct live_process *process = live->slots.all.data[slot];
		size_t from = at;
		int r;

		if (!is_sampled(process))
			continue;
		while (at < n && sites[at].slot == slot)
			at++;
		r = emit_process(live, process, sites + from, at - from);
		if (r)
			return r;
	}
	return 0;
}

static int compare_live(const void *item_a, const void *item_b)
{
	const struct snapshot_site *a = *(const struct snapshot_site *const *)item_a;
	const struct snapshot_site *b = *(const struct snapshot_site *const *)item_b;

	return (a->counts.live_bytes < b->counts.live_bytes) -
	       (a->counts.live_bytes > b->counts.live_bytes);
}

/* The largest sites, and what is left out. */
static int emit_sites(struct live *live, const struct snapshot_site *sites, size_t n)
{
	_cleanup_free_ const struct snapshot_site **live_ones = calloc(n + 1, sizeof(*live_ones));
	struct record end = { .type = RECORD_SAMPLE_END };
	size_t n_live = 0;
	int r = 0;

	if (!live_ones)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (sites[i].counts.live_bytes)
			live_ones[n_live++] = &sites[i];
	if (n_live > MOST_SITES) {
		qsort(live_ones, n_live, sizeof(*live_ones), compare_live);
		end.sample_end.n_left_out = n_live - MOST_SITES;
		end.sample_end.most_bytes = live_ones[MOST_SITES]->counts.live_bytes;
		n_live = MOST_SITES;
	}
	for (size_t i = 0; i < n_live && r == 0; i++) {
		const struct snapshot_site *site = live_ones[i];
		struct record record = {
			.type = RECORD_SAMPLE_SITE,
			.sample_site = { .image = live->slots.all.data[site->slot]->image,
					 .fn = site->fn,
					 .stack = site->stack,
					 .live_bytes = site->counts.live_bytes },
		};

		r = live_emit(live, &record);
	}
	return r ? r : live_emit(live, &end);
}

/* Who has room keeps it to its end; of the others those in the lowest slots get what is free. */
static size_t choose_processes(struct live *live)
{
	size_t n = 0, n_left_out = 0;

	vec_foreach(&live->slots.all, p)
		n += is_sampled(*p) && (*p)->usage.is_read;
	vec_foreach(&live->slots.all, p) {
		if (!is_sampled(*p) || (*p)->usage.is_read)
			continue;
		(*p)->usage.is_read = n < LIVE_USAGE_PROCESSES;
		if ((*p)->usage.is_read)
			n++;
		else
			n_left_out++;
	}
	return n_left_out;
}

static int emit_usage_sample(struct live *live)
{
	struct record begin = { .type = RECORD_SAMPLE,
				.sample = { .time_ns = clock_monotonic_ns() } };
	struct record end = { .type = RECORD_SAMPLE_END,
			      .sample_end = { .n_processes_left_out = choose_processes(live) } };
	int r = live_emit(live, &begin);

	vec_foreach(&live->slots.all, p) {
		struct record record = { .type = RECORD_SAMPLE_PROCESS };

		if (r || !is_sampled(*p) || !(*p)->usage.is_read)
			continue;
		record.sample_process.image = (*p)->image;
		live_usage_read(live->usage, (*p)->pid, &(*p)->usage.clock, &record.sample_process);
		r = live_emit(live, &record);
	}
	return r ? r : live_emit(live, &end);
}

/* In turn, since there may not be time for all of those that are due. */
static void read_shares(struct live *live)
{
	size_t n = live->slots.all.len, first = n ? live->next_share % n : 0;

	live_usage_begin(live->usage);
	for (size_t i = 0; i < n; i++) {
		struct live_process *process = live->slots.all.data[(first + i) % n];

		if (!is_sampled(process) ||
		    (!live->opts.run.allocations && !process->usage.is_read))
			continue;
		if (!live_usage_read_share(live->usage, process->pid, &process->usage.clock)) {
			live->next_share = process->slot.n;
			return;
		}
	}
}

static int emit_heap_sample(struct live *live)
{
	_cleanup_(snapshot_free_p) struct snapshot *snapshot = NULL;
	struct record begin = { .type = RECORD_SAMPLE };
	const struct snapshot_site *sites;
	size_t n;
	int r;

	live_tick_programs(live);
	live_note_peaks(live);
	begin.sample.time_ns = clock_monotonic_ns();
	live_books_raise_epoch(live);
	/* Without, a sample may hold half of some changes. */
	(void)live_books_await(live);
	r = snapshot_of_sampled(live, &snapshot);
	if (r)
		return r;
	sites = snapshot_sites(snapshot, &n);
	r = live_emit(live, &begin);
	if (r == 0)
		r = emit_processes(live, sites, n);
	return r ? r : emit_sites(live, sites, n);
}

int live_read_sample(struct live *live, uint64_t *ret_cpu_ns)
{
	uint64_t cpu_ns;
	int r;

	read_shares(live);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r = live->opts.run.allocations ? emit_heap_sample(live) : emit_usage_sample(live);
	*ret_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return r;
}
