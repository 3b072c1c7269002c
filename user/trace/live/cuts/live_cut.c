/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts: the consistent state of all processes, as records. An ended process is read once more after
 * its end, then its entries are deleted and its last values kept here until the next cut.
 */
#include "base/saturate.h"
#include "bpf/abi.h"
#include "bpf/abi_sample.h"
#include "memtraced.skel.h"
#include "trace/live/books/live_books.h"
#include "trace/live/cuts/live_cuts.h"
#include "trace/live/cuts/live_notes.h"
#include "trace/live/cuts/snapshot.h"
#include "trace/live/jobs/live_jobs.h"
#include "trace/live/regions/live_regions.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"
#include "trace/live/stacks/live_stacks.h"
#include "trace/unwind/unwind_tables.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* A process's end is announced a moment before its last calls are counted. */
#define CALLS_GRACE_NS 1000000

static_assert(RECORD_STACK_OTHER == ABI_STACK_OTHER && RECORD_STACK_NO_CODE == ABI_STACK_NO_CODE,
	      "an id goes into records as it is");

static_assert(ABI_BOOK_LOST_BYPASSED + 1 == ABI_BOOK_LOSSES, "all have names");

static const char *const loss_names[LOSSES] = {
	[ABI_LOST_BLOCK_MAP_FULL] = "block-map-full",
	[ABI_LOST_SITE_MAP_FULL] = "site-map-full",
	[ABI_LOST_STACK_MAP_FULL] = "stack-map-full",
	[ABI_LOST_RING_FULL] = "ring-full",
	[ABI_LOST_INFLIGHT] = "in-flight-missing",
	[ABI_LOST_STACK_UNREADABLE] = "stack-unreadable",
	[ABI_LOST_SCRATCH_BUSY] = "stack-scratch-busy",
	[ABI_LOST_ADDRESS] = "address-out-of-range",
	[ABI_LOST_PROCESS] = "process-table-full",
	[ABI_LOST_TOMBSTONE] = "shared-block-record",
	[ABI_LOST_OUT_PARAM] = "result-unreadable",
	[ABI_LOST_FILE] = "mapped-file-unreadable",
	[ABI_LOST_HISTOGRAM] = "histogram-full",
	[ABI_LOST_EVENT] = "event-map-full",
	[ABI_LOST_SYSCALL_INFLIGHT] = "syscall-thread-table-full",
	[ABI_LOST_SYSCALL_MAP_FULL] = "syscall-table-full",
	[ABI_LOST_FILE_MAP_FULL] = "file-table-full",
	[ABI_LOST_FILE_NAME] = "file-name",
	[ABI_LOST_FREE_PAIR] = "free-pair-map-full",
	[ABI_LOST_BIRTH] = "birth-map-full",
	[ABI_LOST_NESTING] = "nesting-guessed",
	[ABI_LOST_ARGUMENT] = "probe-argument-unreadable",
	[ABI_LOST_SAMPLE_ROOM] = "process-samples-full",
	[ABI_LOST_REGION_STACK] = "process-mapping-stacks-full",
	[ABI_LOST_STACK_ROOM] = RECORD_CAUSE_STACK_ROOM,
	[ABI_LOST_BLOCK_ROOM] = "process-blocks-full",
	[ABI_LOST_UNKNOWN_ALLOCATION] = "allocation-unknown",
	[ABI_LOST_OUTLIVED] = "child-in-shared-memory", /* added to LOSS_SHARED_MEMORY */
	[LOSS_ATTACHED_LATE] = "attached-late",
	[LOSS_MAPPING] = "mapping-unknown",
	[LOSS_STATE] = "process-unknown",
	[LOSS_NOT_RUN] = "program-not-run",
	[LOSS_FLOOR] = RECORD_CAUSE_FLOOR,
	[LOSS_UNWIND_TABLES] = "unwind-tables-full",
	[LOSS_ANCESTORS] = "inheritance-forgotten",
	[LOSS_BEFORE_UNREAD] = RECORD_CAUSE_BEFORE_UNREAD,
	[LOSS_BEFORE_NO_ROOM] = "before-attach-no-room",
	[LOSS_SHARED_MEMORY] = "child-in-shared-memory",
	[LOSS_NO_ALLOCATOR] = "no-allocator-found",
	[LOSS_BUDGET] = "untraced-ms-by-budget",
	[LOSS_FILE_UNREAD] = "file-not-parsed",
	[LOSS_ROWS_UNREAD] = "unwind-rows-not-parsed",
	[LOSS_CPU_AWAY] = "cpu-was-away",
	[LOSS_FILE_UNOPENED] = "file-not-opened",
	[ABI_LOST_CODE_START] = "code-start-map-full", /* added to LOSS_CODE_START */
	[LOSS_CODE_START] = "code-start-map-full",
	[LOSS_SITE_ROOM] = RECORD_CAUSE_STACK_ROOM, /* added to ABI_LOST_STACK_ROOM */
	[LOSS_CUT] = "moment-uncertain",
	[LOSS_BOOK] = "book-unreadable",
	[LOSS_BOOK_CEASED] = "book-not-kept",
	[LOSS_FAULT] = "crash-block-not-searched",
	[LOSS_UNREAD] = "process-not-read",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_THREADS] = "book-threads-full",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_NODES] = RECORD_CAUSE_BOOK_STACKS,
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_SITES] = "book-sites-full",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_BLOCKS] = "book-blocks-full",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_NESTED] = "book-busy",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_ADDRESS] = "book-address-out-of-range",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_FORK] = "book-inheritance-unknown",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_UNKNOWN] = "allocation-unknown", /* added to the former */
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_PAIRS] = "free-pair-map-full",	  /* as are these two */
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_BIRTHS] = "birth-map-full",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_LIMIT] = "book-given-up",
	[LOSS_BOOK_FIRST + ABI_BOOK_LOST_BYPASSED] = "book-bypassed",
};

static uint64_t age_ns(const struct live *live, const struct live_process *process, uint32_t tick)
{
	uint32_t now = process->ended ? live_tick_of(live, process->end_ns) :
					live->programs->control->tick;

	return now > tick ? (now - tick) * ABI_TICK_NS : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t error_of(double variance)
{
	return saturate_u64(ceil(sqrt(variance)));
}

/* Of the bytes of all of a site's samples. */
static double allocated_variance(const struct snapshot_site *site)
{
	return (double)site->counts.bytes_variance * (1 << ABI_SAMPLE_BYTES_SHIFT);
}

/*
 * Of all of a site's blocks: live ones until now or the process's end, inherited ones from its fork
 * on. The sums wrap, their difference does not.
 */
static uint64_t lifetime_ns(const struct live *live, const struct live_process *process,
			    const struct snapshot_site *site)
{
	uint64_t unit_ns = live_lifetime_unit_ns(live, process);
	uint64_t end = process->ended ? live_lifetime_clock(live, process, process->end_ns) :
		       unit_ns == ABI_TICK_NS ?
					live->programs->control->tick :
					live_lifetime_clock(live, process, live->cuts.time_ns);
	uint64_t start =
		site->inherited_blocks ? live_lifetime_clock(live, process, process->forked_ns) : 0;
	uint64_t units = site->lifetimes + (uint64_t)site->counts.live_blocks * end -
			 (uint64_t)site->inherited_blocks * start;

	if ((int64_t)units <= 0) /* a block's clock may be a little ahead of the end's */
		return 0;
	return units > UINT64_MAX / unit_ns ? UINT64_MAX : units * unit_ns;
}

static int emit_site(struct live *live, const struct live_process *process,
		     const struct snapshot_site *site)
{
	bool aged = site->oldest_tick <= site->newest_tick && site->counts.live_blocks > 0;
	struct record record = {
		.type = RECORD_SITE,
		.site = { .image = process->image,
			  .fn = site->fn,
			  .stack = site->stack,
			  .live_bytes = site->counts.live_bytes,
			  .live_blocks = site->counts.live_blocks,
			  .allocs = site->counts.allocs,
			  .bytes = site->counts.bytes,
			  .temporary = site->counts.temporary,
			  .peak_bytes = site->peak_bytes,
			  .inherited_bytes = site->inherited_bytes,
			  .young_bytes = site->young_bytes,
			  .young_blocks = site->young_blocks,
			  .blocks_variance = site->blocks_variance,
			  .allocs_variance = site->allocs_variance,
			  .se_live_bytes = error_of(site->live_variance),
			  .se_bytes = error_of(allocated_variance(site)),
			  .samples = site->counts.samples,
			  .live_samples = site->live_samples,
			  .live_beyond = site->live_beyond,
			  .most_beyond = site->counts.most_beyond,
			  .peak_blocks = site->peak_blocks,
			  .lifetime_ns = process->depth == RECORD_DEPTH_SAMPLED ?
						 0 :
						 lifetime_ns(live, process, site),
			  .oldest_ns = aged ? age_ns(live, process, site->oldest_tick) : UINT64_MAX,
			  .newest_ns =
				  aged ? age_ns(live, process, site->newest_tick) : UINT64_MAX },
	};

	memcpy(record.site.born_bytes, site->born_bytes, sizeof(record.site.born_bytes));
	return live_emit(live, &record);
}

static void note_interval(struct record_totals *totals, const struct abi_proc *proc)
{
	totals->sample_interval = ABI_SAMPLE_INTERVAL(proc);
	totals->sample_shown = ABI_SAMPLE_SHOWN(proc->sample_interval);
}

/* But for what the sums' errors come of. */
static void add_site(struct record_totals *t, const struct snapshot_site *site)
{
	t->allocs += site->counts.allocs;
	t->bytes += site->counts.bytes;
	t->live_bytes += site->counts.live_bytes;
	t->live_blocks += site->counts.live_blocks;
	t->samples += site->counts.samples;
	t->live_samples += site->live_samples;
	t->live_beyond = larger(t->live_beyond, site->live_beyond);
	t->most_beyond = larger(t->most_beyond, site->counts.most_beyond);
	t->temporary += site->counts.temporary;
	t->missed_frees += site->counts.missed_frees;
	t->blocks_variance += site->blocks_variance;
	t->allocs_variance += site->allocs_variance;
	t->frees_variance += site->allocs_variance + site->inherited_variance;
	t->inherited_bytes += site->inherited_bytes;
	t->inherited_blocks += site->inherited_blocks;
	if (site->fn != RECORD_BEFORE_ATTACH)
		return;
	t->has_before = true;
	t->before_bytes += site->counts.live_bytes;
	t->before_blocks += site->counts.live_blocks;
}

/* Sums of a process's sites, and what only the process knows. */
static struct record_totals totals_of(const struct live *live, const struct live_process *process,
				      const struct snapshot_site *sites, size_t n)
{
	const struct abi_proc *proc = shared_proc(live->programs, process->slot);
	double live_variance = 0, variance = 0;
	struct record_totals t = {
		.image = process->image,
		.comm = *process->comm ? process->comm : NULL,
		.unknown_frees = proc->unknown_frees,
		.peak_bytes = shared_peak_at_cut(proc, live->programs->control->cut_epoch).bytes,
		.peak_error_bytes = proc->race_bytes,
		.lost = proc->lost,
		.peak_ns = process->peak.ns,
		.further_errors = live_errors_further(live, process),
		.has_before = process->before.was_read,
		.before_unread = process->before.unread_bytes,
		.peak_rss_bytes = process->rss_peak.bytes,
		.peak_rss_is_least = process->rss_peak.is_least,
		.by_library = process->links.book != LINKS_NO_BOOK,
	};

	if (process->depth == RECORD_DEPTH_SAMPLED) {
		note_interval(&t, proc);
	} else {
		t.failed = proc->failed;
		t.lifetime_resolution_ns = live_lifetime_resolution_ns(live, process);
	}
	for (size_t i = 0; i < n; i++) {
		add_site(&t, &sites[i]);
		live_variance += sites[i].live_variance;
		variance += allocated_variance(&sites[i]);
	}
	t.se_live_bytes = error_of(live_variance);
	t.se_bytes = error_of(variance);
	/*
	 * A fork copies the parent's total while its other threads go on, and the sites are summed
	 * from blocks: what the two differ by, the peak is uncertain by.
	 */
	if (t.live_bytes > t.peak_bytes) {
		t.peak_error_bytes += (uint64_t)(t.live_bytes - t.peak_bytes);
		t.peak_bytes = t.live_bytes;
	}
	/* A block ends by a free that was seen, or by one that was missed. */
	t.frees = t.allocs + t.inherited_blocks + (int64_t)process->before.blocks - t.live_blocks -
		  t.missed_frees;
	if (process->depth == RECORD_DEPTH_SAMPLED && (int64_t)t.frees < 0)
		t.frees = 0; /* each of these estimates was rounded */
	/* What was freed is the rest, so that this is the rest of what is not known. */
	t.frees_variance -=
		t.frees_variance < t.blocks_variance ? t.frees_variance : t.blocks_variance;
	return t;
}

/* Samples are events of which each stands for as many bytes; freed are those that do not live. */
static uint64_t events_of(const struct record_totals *t)
{
	if (t->sample_interval)
		return t->samples +
		       (t->samples > t->live_samples ? t->samples - t->live_samples : 0) +
		       t->unknown_frees;
	return t->allocs + t->frees + t->failed + t->unknown_frees;
}

static void count_stacks(struct live *live, const struct record_totals *totals,
			 const struct snapshot_site *sites, size_t n, struct cut_coverage *coverage)
{
	for (size_t i = 0; i < n; i++)
		live_count_stack(live, sites[i].stack,
				 totals->sample_interval ? sites[i].counts.samples :
							   sites[i].counts.allocs,
				 coverage);
}

/* What the programs have noted by stacks. */
struct notes {
	struct live_errors errors;
	struct live_frees frees;
};

static void notes_done(struct notes *notes)
{
	live_errors_done(&notes->errors);
	live_frees_done(&notes->frees);
}

static int emit_process(struct live *live, struct live_process *process,
			const struct snapshot_site *sites, size_t n, const struct notes *notes,
			struct cut_coverage *coverage)
{
	struct record record = { .type = RECORD_TOTALS };
	int r;

	record.totals = totals_of(live, process, sites, n);
	count_stacks(live, &record.totals, sites, n, coverage);
	coverage->events += events_of(&record.totals);
	r = live_emit(live, &record);
	for (size_t i = 0; i < n && r == 0; i++)
		r = emit_site(live, process, &sites[i]);
	if (r == 0)
		r = live_errors_emit(live, process, &notes->errors);
	return r ? r : live_frees_emit(live, process, &notes->frees);
}

static int snapshot_take(struct live *live, bool ended_only, struct snapshot **ret)
{
	_cleanup_free_ struct snapshot_process *processes =
		calloc(live->slots.all.len + 1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	for (size_t slot = 0; slot < live->slots.all.len; slot++) {
		const struct live_process *process = live->slots.all.data[slot];

		processes[slot].slot = slot;
		processes[slot].wanted = process && !process->placeholder && !process->settled &&
					 (process->ended || !ended_only);
		processes[slot].process = live->slots.all.data[slot];
		processes[slot].last_tick = process && process->ended ?
						    live_tick_of(live, process->end_ns) :
						    live->programs->control->tick;
		processes[slot].forked =
			shared_proc(live->programs, (slot_t){ (uint32_t)slot })->parent !=
			ABI_NO_SLOT;
	}
	return snapshot_new(live, processes, live->slots.all.len, true, live->mark_tick, ret);
}

/* Sites of one slot in the sorted array, from *at on. */
static size_t sites_of(const struct snapshot_site *sites, size_t n, size_t *at, uint32_t slot)
{
	size_t from = *at;

	while (*at < n && sites[*at].slot == slot)
		(*at)++;
	return *at - from;
}

static bool is_in_cut(const struct live_process *process, bool ended_only)
{
	return process && !process->placeholder && !process->settled &&
	       (process->ended || !ended_only);
}

/* Before the cut's records: stacks of books are handed over meanwhile. */
static int read_notes(struct live *live, bool ended_only, struct notes *notes)
{
	int r = live_errors_read(live->programs, &notes->errors);

	if (r == 0)
		r = live_frees_read(live, &notes->frees);
	vec_foreach(&live->slots.all, p) {
		if (r == 0 && is_in_cut(*p, ended_only))
			r = live_errors_read_book(live, *p, &notes->errors);
		if (r == 0 && is_in_cut(*p, ended_only))
			r = live_frees_read_book(live, *p, &notes->frees);
	}
	live_frees_sort(&notes->frees);
	return r;
}

/* Hands over everything that the snapshot has; ended processes are settled by it. */
static int emit_snapshot(struct live *live, const struct snapshot *snapshot,
			 const struct notes *notes, bool ended_only)
{
	size_t n, at = 0;
	const struct snapshot_site *sites = snapshot_sites(snapshot, &n);
	int r = 0;

	for (size_t slot = 0; slot < live->slots.all.len; slot++) {
		struct live_process *process = live->slots.all.data[slot];
		size_t from, count;

		if (!is_in_cut(process, ended_only))
			continue;
		from = at;
		count = sites_of(sites, n, &at, slot);
		/* where nothing is counted there are no totals, which is not the same as zeros */
		if (!live->opts.run.floor && process->depth != RECORD_DEPTH_GROWTH)
			r = emit_process(live, process, sites + from, count, notes,
					 process->ended ? &live->cuts.settled :
							  &live->cuts.running);
		if (r)
			return r;
		if (process->ended)
			live_process_settle(process);
	}
	return 0;
}

static void add_coverage(struct cut_coverage *sum, const struct cut_coverage *part)
{
	sum->events += part->events;
	sum->stacks_complete += part->stacks_complete;
	sum->stacks_guided += part->stacks_guided;
	for (size_t i = 0; i < STACK_CUTS; i++)
		sum->cuts[i] += part->cuts[i];
}

/* What runs, what is settled, and what was counted as it came. */
static struct cut_coverage coverage_of_all(const struct live *live)
{
	struct cut_coverage sum = { 0 };

	add_coverage(&sum, &live->cuts.running);
	add_coverage(&sum, &live->cuts.settled);
	add_coverage(&sum, &live->mapped.counts);
	return sum;
}

static int emit_coverage(struct live *live)
{
	struct record record = { .type = RECORD_COVERAGE };
	struct cut_coverage all;
	uint64_t counts[LOSSES];
	struct record_loss losses[LOSSES], cuts[STACK_CUTS];
	int r = programs_losses(live->programs, counts);

	if (r)
		return r;
	memcpy(counts + ABI_LOSSES, live->slots.losses, sizeof(live->slots.losses));
	counts[LOSS_SHARED_MEMORY] += counts[ABI_LOST_OUTLIVED];
	counts[ABI_LOST_OUTLIVED] = 0;
	counts[LOSS_CODE_START] += counts[ABI_LOST_CODE_START];
	counts[ABI_LOST_CODE_START] = 0;
	counts[ABI_LOST_UNKNOWN_ALLOCATION] += counts[LOSS_BOOK_FIRST + ABI_BOOK_LOST_UNKNOWN];
	counts[LOSS_BOOK_FIRST + ABI_BOOK_LOST_UNKNOWN] = 0;
	counts[ABI_LOST_STACK_ROOM] += counts[LOSS_SITE_ROOM];
	counts[LOSS_SITE_ROOM] = 0;
	counts[LOSS_UNWIND_TABLES] = live->tables ? unwind_tables_refused(live->tables) : 0;
	counts[LOSS_FILE_UNREAD] = objects_unread(live->objects);
	counts[LOSS_FILE_UNOPENED] = objects_unopened(live->objects);
	counts[LOSS_ROWS_UNREAD] = live->tables ? unwind_tables_unread(live->tables) : 0;
	counts[LOSS_NOT_RUN] = live_jobs_missed(live);
	counts[LOSS_CPU_AWAY] = live_cpu_gaps(live);
	counts[LOSS_CUT] = live->cuts.torn;
	record.coverage.exact = !live->opts.run.sampled || live->opts.run.both;
	for (size_t i = 0; i < LOSSES; i++) {
		if (!counts[i])
			continue;
		losses[record.coverage.n_losses++] =
			(struct record_loss){ loss_names[i], counts[i] };
		if (!record_loss_spares_totals(loss_names[i]))
			record.coverage.exact = false;
	}
	for (size_t i = 0; i < objects_count(live->objects); i++)
		if (object_unprobed(objects_at(live->objects, i)))
			record.coverage.exact = false;
	live_count_waiting_regions(live);
	all = coverage_of_all(live);
	record.coverage.events = all.events;
	record.coverage.stacks_complete = all.stacks_complete;
	record.coverage.stacks_guided = all.stacks_guided;
	for (size_t i = 0; i < STACK_CUTS; i++) {
		if (!all.cuts[i])
			continue;
		cuts[record.coverage.n_cuts++] =
			(struct record_loss){ live_cut_name(i), all.cuts[i] };
		record.coverage.stacks_truncated += all.cuts[i];
	}
	record.coverage.losses = losses;
	record.coverage.cuts = cuts;
	return live_emit(live, &record);
}

static int emit_mark(struct live *live, enum record_type type, uint64_t time_ns)
{
	struct record record = { .type = type, .cut = { .time_ns = time_ns } };
	int64_t least, most;

	/* Not more than it was: where the clocks are not read at once it seems to have slept. */
	clock_asleep(&least, &most);
	if (least > live->start_asleep_ns)
		record.cut.slept_ns = (uint64_t)(least - live->start_asleep_ns);
	return live_emit(live, &record);
}

/* What the jobs have counted, what was lost, and the mark that the cut ends by. */
static int emit_cut_end(struct live *live, bool with_jobs, uint64_t time_ns)
{
	int r = 0;

	if (with_jobs)
		r = live_read_jobs(live, &live->cuts.running, &live->cuts.settled);
	if (r == 0)
		r = emit_coverage(live);
	if (r == 0)
		r = live_emit_check(live);
	return r ? r : emit_mark(live, RECORD_CUT_END, time_ns);
}

/* Without allocations a cut is what the jobs have counted. */
static int cut_jobs(struct live *live, uint64_t time_ns)
{
	struct timespec grace = { .tv_nsec = CALLS_GRACE_NS };
	int r = emit_mark(live, RECORD_CUT, time_ns);

	if (live->jobs.syscalls)
		nanosleep(&grace, NULL);
	live->cuts.running = (struct cut_coverage){ 0 };
	return r ? r : emit_cut_end(live, true, time_ns);
}

int live_read_cut(struct live *live, bool ended_only, uint64_t time_ns)
{
	_cleanup_(snapshot_free_p) struct snapshot *snapshot = NULL;
	_cleanup_(notes_done) struct notes notes = { 0 };
	int r;

	if (!live->opts.run.allocations)
		return cut_jobs(live, time_ns);
	live_note_peaks(live);
	if (!live->cuts.begun)
		live_books_raise_epoch(live);
	live->cuts.begun = false;
	live->cuts.time_ns = time_ns;
	/* Nothing changes any more of what has ended. */
	live->cuts.torn = !ended_only && !live_books_await(live);
	live_books_take_totals(live, ended_only);
	r = snapshot_take(live, ended_only, &snapshot);
	if (r == 0)
		r = read_notes(live, ended_only, &notes);
	if (r)
		return r;
	live->cuts.running = (struct cut_coverage){ 0 };
	r = emit_mark(live, RECORD_CUT, time_ns);
	if (r == 0)
		r = emit_snapshot(live, snapshot, &notes, ended_only);
	return r ? r : emit_cut_end(live, !ended_only || live->jobs.syscalls, time_ns);
}

void live_begin_cut(struct live *live)
{
	if (live->opts.run.allocations)
		live_books_raise_epoch(live);
	live->cuts.begun = true;
}
