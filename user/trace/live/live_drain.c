/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draining: each event goes to the file that knows what it means. Cuts and samples drain before,
 * and after, as events come while maps are read.
 */
#include "trace/live/live_drain.h"

#include "trace/live/books/live_books.h"
#include "trace/live/code/live_code.h"
#include "trace/live/cuts/live_cuts.h"
#include "trace/live/jobs/live_jobs.h"
#include "trace/live/lifecycle/live_lifecycle.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/regions/live_regions.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/stacks/live_stacks.h"

/*
 * A settling reads all maps. It is due for one ended process when the time since the last has been
 * long in comparison with what that took; for many, so that they do not add up, half of the time
 * may go into it. In a storm more than many end meanwhile: one settling then serves all of them.
 */
#define SETTLE_AT 64
#define SETTLE_SHARE 20
#define SETTLE_SHARE_MANY 1
/* So many of all slots are not left to wait. */
#define SETTLE_AT_ONCE 4
/* Where it goes on for good it must be cheap: a five-hundredth of the time, once a second. */
#define SETTLE_SHARE_FOR_GOOD 500
#define SETTLE_PAUSE_NS 1000000000ULL

/* --- threads that are stopped ---------------------------------------------------------------- */

static int note_held(struct live *live, bool held, pid_t tid)
{
	return held ? vec_push(&live->held.marks, tid) : 0;
}

bool live_take_mark(struct live *live, pid_t tid)
{
	for (size_t i = 0; i < live->held.marks.len; i++) {
		if (live->held.marks.data[i] != tid)
			continue;
		live->held.marks.data[i] = live->held.marks.data[--live->held.marks.len];
		return true;
	}
	return false;
}

bool live_take_checkpoint(struct live *live, pid_t tid, const char **ret_name)
{
	for (size_t i = 0; i < live->held.checkpoints.len; i++) {
		const struct abi_ev_checkpoint point = live->held.checkpoints.data[i];

		if ((pid_t)point.tid != tid)
			continue;
		*ret_name = point.function ? live->opts.checkpoint_names[point.function - 1] : NULL;
		live->held.checkpoints.data[i] =
			live->held.checkpoints.data[--live->held.checkpoints.len];
		return true;
	}
	return false;
}

/* --- events ---------------------------------------------------------------------------------- */

static int dispatch(struct live *live, const void *data)
{
	const struct abi_ev_code_changed *changed = data;
	const struct abi_ev_book *book = data;
	const struct abi_event *head = data;
	const struct abi_ev_map *map = data;
	int r = 0;

	switch (head->type) {
	case ABI_EV_STACK:
		r = live_on_stack(live, data);
		break;
	case ABI_EV_FORK:
	case ABI_EV_EXEC:
	case ABI_EV_EXIT:
	case ABI_EV_SEEN:
	case ABI_EV_FIRST_ENDED:
		r = live_on_process_event(live, data);
		break;
	case ABI_EV_CODE:
		r = live_on_region(live, data);
		r = r ? r : note_held(live, map->held, (pid_t)map->tid);
		r = r ? r : live_on_code(live, data);
		break;
	case ABI_EV_CODE_CHANGED:
		r = note_held(live, changed->held, (pid_t)changed->tid);
		r = r ? r : live_on_code_changed(live, data);
		break;
	case ABI_EV_CODE_GONE:
		r = live_on_code_gone(live, data);
		break;
	case ABI_EV_MMAP:
	case ABI_EV_MUNMAP:
	case ABI_EV_MREMAP:
	case ABI_EV_UNMAP_RESULT:
	case ABI_EV_BRK:
		r = live_on_region(live, data);
		break;
	case ABI_EV_STACK_COPY:
		r = live_on_stack_copy(live, data);
		break;
	case ABI_EV_FILE:
		r = live_on_file(live, data);
		break;
	case ABI_EV_CHECKPOINT:
		r = vec_push(&live->held.checkpoints, *(const struct abi_ev_checkpoint *)data);
		break;
	case ABI_EV_FAULT:
		r = live_on_fault(live, data);
		break;
	case ABI_EV_DEATH:
		r = live_on_death(live, data);
		break;
	case ABI_EV_OCCURRENCE:
		r = live_on_occurrence(live, data);
		break;
	case ABI_EV_BOOK:
		r = note_held(live, book->held, (pid_t)book->tid);
		r = r ? r : live_on_book(live, data);
		break;
	case ABI_EV_FAULT_TICKS:
		r = live_check_cpus(live);
		break;
	}
	return r;
}

/* What it fails with is kept in live->error. */
static void on_event(struct live *live, const void *data)
{
	int r;

	live_pin(live);
	r = dispatch(live, data);
	live_unpin(live);
	if (r && !live->error)
		live->error = r;
}

void live_tick(struct live *live)
{
	live_books_tick(live);
	live_tick_programs(live);
}

void live_mark(struct live *live)
{
	live_mark_programs(live);
	live_books_tick(live);
}

int live_on_ring(void *ctx, void *data, size_t size)
{
	struct live *live = ctx;

	/* The programs are ours: each type has one layout. */
	if (!live_buffer_add(live->buffer, data, size))
		on_event(live, data);
	return 0;
}

/* The ring is emptied into memory meanwhile, as reading the maps takes long. */
static int make_cut(struct live *live, bool ended_only)
{
	uint64_t time_ns;
	int r = live_release_all_stacks(live, true);

	/* What was read just now shows changes that the ring tells of. */
	if (r == 0 && live->unsettled.len) {
		r = ring_buffer__consume(live->ring);
		r = r < 0 ? r : live->error;
	}
	if (r == 0)
		r = live_record_all_changes(live);
	if (r)
		return r;
	live_buffer_begin(live);
	time_ns = clock_monotonic_ns();
	live_tick(live);
	r = ended_only ? 0 : live_read_running(live);
	if (r == 0)
		r = live_read_cut(live, ended_only, time_ns);
	if (r == 0)
		r = live_purge_jobs(live);
	if (r == 0)
		r = live_reclaim(live);
	live_buffer_end(live);
	return r;
}

static bool settle_is_due(const struct live *live, size_t waiting, uint64_t now)
{
	uint64_t share = waiting < SETTLE_AT ? SETTLE_SHARE : SETTLE_SHARE_MANY;
	uint64_t after_ns = share * live->settling.took_ns;

	if (live->opts.forget_ended) {
		after_ns = SETTLE_SHARE_FOR_GOOD * live->settling.took_ns;
		after_ns = after_ns < SETTLE_PAUSE_NS ? SETTLE_PAUSE_NS : after_ns;
	}
	return waiting >= live->programs->max_procs / SETTLE_AT_ONCE ||
	       now >= live->settling.ended_ns + after_ns;
}

static int settle(struct live *live)
{
	uint64_t now = clock_monotonic_ns();
	size_t waiting = 0;
	int r;

	if (live->cuts.begun || (!live->opts.run.allocations && !live_purges_jobs(live)))
		return 0;
	vec_foreach(&live->slots.all, p)
		waiting += *p && (*p)->ended &&
			   !(live->opts.run.allocations ? (*p)->settled : (*p)->counts.purged);
	if (!waiting || !settle_is_due(live, waiting, now))
		return 0;
	r = make_cut(live, true);
	live->settling.ended_ns = clock_monotonic_ns();
	live->settling.took_ns = live->settling.ended_ns - now;
	return r;
}

/* What came during a cut. */
static int after_cut(struct live *live)
{
	if (!live_buffer_waits(live))
		return 0;
	live->error = live_buffer_error(live->buffer);
	live_buffer_drain(live, on_event);
	return live->error ? live->error : live_unwind_drained(live);
}

int live_drain(struct source *source, record_fn fn, void *userdata)
{
	struct live *live = (struct live *)source;
	uint64_t refused;
	int r = live_begin_emitting(live, fn, userdata);

	if (r)
		return r;
	live->error = live_buffer_error(live->buffer);
	live_buffer_drain(live, on_event);
	r = ring_buffer__consume(live->ring);
	if (r < 0)
		return r;
	if (live->error)
		return live->error;
	r = programs_refused(live->programs, &refused);
	if (r == 0 && refused)
		r = live_end_refused(live, refused);
	/* The ring was empty: all changes of before are known, and what waits for them goes on. */
	if (r == 0)
		r = live_record_all_changes(live);
	if (r == 0)
		r = live_release_all_stacks(live, false);
	return r ? r : live_unwind_drained(live);
}

int live_emit_book_stacks(struct live *live, record_fn fn, void *userdata)
{
	int r = live_begin_emitting(live, fn, userdata);

	for (size_t slot = 0; slot < live->slots.all.len && r == 0; slot++) {
		struct live_process *process = live->slots.all.data[slot];

		if (process && !process->settled)
			r = live_book_read_stacks(live, process);
	}
	return r;
}

int live_maintain(struct live *live, record_fn fn, void *userdata)
{
	int r = live_begin_emitting(live, fn, userdata);

	if (r == 0)
		r = live_retry_files(live);
	if (r == 0)
		r = objects_try_results(live->objects, live->sink.fn, live->sink.userdata);
	if (r == 0)
		r = live_share_awaited(live);
	if (r == 0)
		r = settle(live);
	if (r == 0)
		r = live_reuse(live);
	if (r == 0)
		live_close_files(live);
	return r ? r : after_cut(live);
}

int live_cut(struct source *source, record_fn fn, void *userdata)
{
	struct live *live = (struct live *)source;
	int r = source_drain(source, fn, userdata);

	if (r < 0)
		return r;
	/* An allocator may be in a file that could not be opened at first. */
	r = live_retry_files(live);
	if (r == 0)
		r = live_judge_running(live);
	if (r == 0)
		r = make_cut(live, false);
	return r ? r : after_cut(live);
}

int live_sample(struct live *live, record_fn fn, void *userdata, uint64_t *ret_cpu_ns)
{
	int r = source_drain(&live->source, fn, userdata);

	/* between the beginning of a cut and its reading there is no other epoch */
	*ret_cpu_ns = 0;
	if (r == 0)
		r = live_end_hidden(live);
	if (r < 0 || live->opts.run.floor || live->cuts.begun)
		return r < 0 ? r : 0;
	live_buffer_begin(live);
	r = live_read_sample(live, ret_cpu_ns);
	live_buffer_end(live);
	return r ? r : after_cut(live);
}
