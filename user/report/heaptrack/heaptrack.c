/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What heaptrack's interpreter writes, for heaptrack_print and heaptrack_gui (FORMATS.md 4): the
 * heap of one process as a line for each allocation and each free. We have sums: the course that
 * leads to them is heap_replay's. Other numbers than those the readers show for the whole run, and
 * for each stack, are not in it as they were, such as the size of a single block.
 */
#include "base/interns.h"
#include "base/saturate.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "report/heaptrack/heap_replay.h"
#include "report/one_process.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* --- blocks ----------------------------------------------------------------------------------- */

/*
 * Blocks have numbers by size and trace, and readers go by these: who is freed under the number
 * that was allocated last was temporary. So blocks of a size and trace take turns with two numbers,
 * and temporary ones have a third. heaptrack_gui wants numbers to be allocated in their order,
 * without gaps.
 */
#define NUMBER_NONE UINT64_MAX

struct key {
	uint64_t size, trace;
};

/* One of the numbers of a kind. */
struct number {
	uint64_t number; /* NUMBER_NONE before it is used */
	uint64_t held;
};

struct heaptrack_kind {
	struct number turns[2], temporary;
};

struct heaptrack_lines {
	FILE *file;
	struct interns keys; /* of the kinds: size and trace */
	VEC(struct heaptrack_kind) kinds;
	uint64_t n_numbers;
	uint64_t last;	   /* number of the last line, if that is an allocation; else NUMBER_NONE */
	size_t first_kind; /* of the block with the number 0, if it is held; else SIZE_MAX */
	uint64_t n_false;  /* frees that readers take for those of temporary blocks */
};

static void heaptrack_lines_begin(struct heaptrack_lines *lines, FILE *file)
{
	*lines = (struct heaptrack_lines){
		.file = file,
		.last = NUMBER_NONE,
		.first_kind = SIZE_MAX,
	};
}

static void heaptrack_lines_done(struct heaptrack_lines *lines)
{
	interns_done(&lines->keys);
	vec_done(&lines->kinds);
}

/* The kind of blocks of that size and trace. 0 or -ENOMEM. */
static int heaptrack_lines_kind(struct heaptrack_lines *lines, uint64_t size, uint64_t trace,
				size_t *ret_kind)
{
	const struct key key = { size, trace };
	const struct number unused = { .number = NUMBER_NONE };
	int r = interns_add(&lines->keys, &key, sizeof(key), ret_kind);

	if (r != 1)
		return r;
	return vec_push(&lines->kinds, (struct heaptrack_kind){ { unused, unused }, unused });
}

static void put_take(struct heaptrack_lines *lines, size_t kind, struct number *number)
{
	if (number->number == NUMBER_NONE) {
		const struct key *key = interns_get(&lines->keys, kind);

		fprintf(lines->file, "a %" PRIx64 " %" PRIx64 "\n", key->size, key->trace);
		number->number = lines->n_numbers++;
	}
	fprintf(lines->file, "+ %" PRIx64 "\n", number->number);
	lines->last = number->number;
}

static void put_drop(struct heaptrack_lines *lines, uint64_t number)
{
	fprintf(lines->file, "- %" PRIx64 "\n", number);
	lines->last = NUMBER_NONE;
}

/*
 * Readers keep 0 for "no allocation before": a block of that number is freed as temporary, but
 * right after another one was allocated. So it is one block alone that has it, if it is kept.
 */
static void heaptrack_lines_take(struct heaptrack_lines *lines, size_t kind)
{
	struct number *turns = lines->kinds.data[kind].turns;
	size_t i = turns[0].held > turns[1].held;

	put_take(lines, kind, &turns[i]);
	if (lines->last > 0) {
		turns[i].held++;
		return;
	}
	turns[i].number = NUMBER_NONE;
	lines->first_kind = kind;
}

static bool drop_first(struct heaptrack_lines *lines, size_t kind, bool temporary)
{
	const struct number *turns = lines->kinds.data[kind].turns;
	bool is_safe = lines->last != NUMBER_NONE && lines->last > 0;

	if (lines->first_kind != kind)
		return false;
	if (temporary ? lines->last > 0 : !is_safe && turns[0].held + turns[1].held > 0)
		return false;
	lines->n_false += !temporary && !is_safe;
	put_drop(lines, 0);
	lines->first_kind = SIZE_MAX;
	return true;
}

/* `temporary`: of the block that was taken last, and only directly after that. */
static void heaptrack_lines_drop(struct heaptrack_lines *lines, size_t kind, bool temporary)
{
	struct number *turns = lines->kinds.data[kind].turns;
	size_t i;

	if (drop_first(lines, kind, temporary))
		return;
	/* The one that was taken last, or the other. */
	i = turns[1].held > 0 && turns[1].number == lines->last;
	if (!temporary && turns[i].number == lines->last)
		i = !i;
	if (turns[i].held == 0)
		i = !i;
	if (turns[i].held == 0)
		return;
	lines->n_false += !temporary && turns[i].number == lines->last;
	turns[i].held--;
	put_drop(lines, turns[i].number);
}

/* Allocates a block and frees it at once. */
static void heaptrack_lines_pass(struct heaptrack_lines *lines, size_t kind)
{
	struct number *number = &lines->kinds.data[kind].temporary;

	put_take(lines, kind, number);
	put_drop(lines, number->number);
}

/* --- the file --------------------------------------------------------------------------------- */

/* A file of it has ten gigabytes, if it is not compressed. */
#define MOST_CALLS 1000000000
#define PAGE_BYTES 4096

struct trace_key {
	uint64_t ip, parent;
};

struct track {
	FILE *file;
	const struct view *view;
	const struct view_process *process;
	struct interns strings, ips, traces; /* ips: their lines */
	struct sample_frames frames;	     /* of the stack at hand */
	VEC(struct replay_site) sites;
	VEC(uint64_t) site_traces; /* of each */
	struct heaptrack_lines lines;
	size_t held; /* kind of a passing block that is not freed yet; SIZE_MAX: none */
	uint64_t time_ms;
};

/* Numbers begin at 1; 0 is nothing. */
static int put_string(struct track *track, const char *s, uint64_t *ret_number)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	size_t index;
	int r;

	*ret_number = 0;
	if (!s || !*s)
		return 0;
	escape_text(&text, s);
	r = strbuf_error(&text);
	if (r == 0)
		r = interns_add_string(&track->strings, strbuf_str(&text), &index);
	if (r < 0)
		return r;
	if (r == 1)
		fprintf(track->file, "s %zx %s\n", text.len, strbuf_str(&text));
	*ret_number = index + 1;
	return 0;
}

/* Function, file and line; readers want all three before those of inlined frames. */
static int add_frame(struct track *track, const struct sample_frame *frame, bool alone,
		     struct strbuf *line)
{
	const struct view_frame *place = &frame->frame;
	uint64_t function, file = 0;
	int r = put_string(track, frame->mark ? frame->mark : place->function, &function);

	if (r == 0 && !frame->mark)
		r = put_string(track, place->file, &file);
	if (r < 0 || (alone && !function))
		return r;
	strbuf_addf(line, " %" PRIx64, function);
	if (!alone || file)
		strbuf_addf(line, " %" PRIx64 " %" PRIx32, file, place->line);
	return strbuf_error(line);
}

/* The frames of one place, innermost first. */
static int put_ip(struct track *track, const struct sample_frame *frames, size_t n,
		  uint64_t *ret_number)
{
	const struct view_place *place = frames->mark ? NULL : frames->frame.place;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	uint64_t address = 0, module = 0;
	size_t index;
	int r = 0;

	if (place) {
		address = (place->has_addr ? place->addr : place->vaddr) - place->is_call;
		r = put_string(track, place->object, &module);
	}
	strbuf_addf(&line, "i %" PRIx64 " %" PRIx64, address, module);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_frame(track, &frames[i], n == 1, &line);
	if (r == 0)
		r = strbuf_error(&line);
	if (r == 0)
		r = interns_add_string(&track->ips, strbuf_str(&line), &index);
	if (r < 0)
		return r;
	if (r == 1)
		fprintf(track->file, "%s\n", strbuf_str(&line));
	*ret_number = index + 1;
	return 0;
}

/* The first of the frames at the place of the frame `i`. */
static size_t first_of_place(const struct sample_frame *frames, size_t i)
{
	while (i > 0 && !frames[i].mark && !frames[i - 1].mark &&
	       frames[i - 1].frame.index == frames[i].frame.index)
		i--;
	return i;
}

/* Callers come first. The allocator function is none, unless it is all that is known. */
static int put_trace(struct track *track, uint64_t *ret_number)
{
	const struct sample_frame *frames = track->frames.list.data;
	size_t n = track->frames.list.len, index;
	int r = 0;

	*ret_number = 0;
	while (r == 0 && n > 0) {
		size_t first = first_of_place(frames, n - 1);
		struct trace_key key = { .parent = *ret_number };

		if (first == 0 && *ret_number && !frames->mark && frames->frame.place->alloc)
			break;
		r = put_ip(track, &frames[first], n - first, &key.ip);
		if (r == 0)
			r = interns_add(&track->traces, &key, sizeof(key), &index);
		if (r == 1) {
			fprintf(track->file, "t %" PRIx64 " %" PRIx64 "\n", key.ip, key.parent);
			r = 0;
		}
		*ret_number = index + 1;
		n = first;
	}
	return r;
}

static int add_site(struct track *track, const struct replay_site *site)
{
	uint64_t trace;
	int r;

	if (track->frames.list.len == 0)
		r = vec_push(&track->frames.list, (struct sample_frame){ .mark = "[unknown]" });
	else
		r = 0;
	if (r == 0)
		r = put_trace(track, &trace);
	if (r == 0)
		r = vec_push(&track->sites, *site);
	return r < 0 ? r : vec_push(&track->site_traces, trace);
}

static int add_sites(struct track *track)
{
	const struct view_process *process = track->process;
	int r = 0;

	for (size_t i = 0; r == 0 && i < process->n_sites; i++) {
		const struct view_site *site = &process->sites[i];
		const struct replay_site replayed = {
			.allocs = site->allocs,
			.bytes = site->bytes,
			.temporary = view_site_temporary(site),
			.peak_bytes = saturate_unsigned(site->peak_bytes),
			.live_bytes = saturate_unsigned(site->live_bytes),
			.live_blocks = saturate_unsigned(site->live_blocks),
			.samples = site->series.live_bytes,
			.first = site->series.first,
		};

		if (site->class != VIEW_HEAP)
			continue;
		r = sample_frames_fill(&track->frames, &site->stack);
		if (r == 0)
			r = add_site(track, &replayed);
	}
	return r;
}

/* What of the process's totals none of the sites has: those that were left out, or lost. */
static int add_other_sites(struct track *track)
{
	const struct record_totals *totals = &track->process->totals;
	struct replay_site other = {
		.allocs = totals->allocs,
		.bytes = totals->bytes,
		.temporary = totals->temporary,
		.peak_bytes = saturate_unsigned(totals->peak_bytes),
		.live_bytes = saturate_unsigned(totals->live_bytes),
		.live_blocks = saturate_unsigned(totals->live_blocks),
	};
	int r;

	vec_foreach(&track->sites, site) {
		other.allocs = saturate_subtract_u64(other.allocs, site->allocs);
		other.bytes = saturate_subtract_u64(other.bytes, site->bytes);
		other.temporary = saturate_subtract_u64(other.temporary, site->temporary);
		other.peak_bytes = saturate_subtract_u64(other.peak_bytes, site->peak_bytes);
		other.live_bytes = saturate_subtract_u64(other.live_bytes, site->live_bytes);
		other.live_blocks = saturate_subtract_u64(other.live_blocks, site->live_blocks);
	}
	if (!other.allocs && !other.peak_bytes && !other.live_bytes)
		return 0;
	track->frames.list.len = 0;
	r = vec_push(&track->frames.list, (struct sample_frame){ .mark = "[other sites]" });
	return r < 0 ? r : add_site(track, &other);
}

static int put_time(struct track *track, const struct replay_step *step)
{
	const struct view_timeline *timeline = &track->process->timeline;
	uint64_t time_ms = one_process_own_ms(track->view, track->process, step->time_ns);
	uint64_t rss = UINT64_MAX;

	if (step->point < timeline->n)
		rss = timeline->points[step->point].rss_bytes;
	if (time_ms > track->time_ms)
		track->time_ms = time_ms;
	fprintf(track->file, "c %" PRIx64 "\n", track->time_ms);
	if (rss != UINT64_MAX)
		fprintf(track->file, "R %" PRIx64 "\n", rss / PAGE_BYTES);
	return 0;
}

static bool knows_peak_rss(const struct track *track)
{
	return track->process->timeline.peak_rss_bytes != UINT64_MAX;
}

/* Readers show the most of all lines. When it was, is not known. */
static void put_peak_rss(struct track *track)
{
	if (knows_peak_rss(track))
		fprintf(track->file, "R %" PRIx64 "\n",
			track->process->timeline.peak_rss_bytes / PAGE_BYTES);
}

/* Frees the passing block that waits for another call, so that it is none of a temporary one. */
static void drop_held(struct track *track)
{
	if (track->held != SIZE_MAX)
		heaptrack_lines_drop(&track->lines, track->held, false);
	track->held = SIZE_MAX;
}

/* Each is freed when the next one is there. */
static void put_passing(struct track *track, size_t kind, uint64_t count)
{
	for (uint64_t i = 0; i < count && !ferror(track->file); i++) {
		heaptrack_lines_take(&track->lines, kind);
		drop_held(track);
		track->held = kind;
	}
	if (count > 1)
		drop_held(track);
}

static int put_step(const struct replay_step *step, void *userdata)
{
	struct track *track = userdata;
	struct heaptrack_lines *lines = &track->lines;
	size_t kind;
	int r;

	if (step->what == REPLAY_TIME)
		return put_time(track, step);
	r = heaptrack_lines_kind(lines, step->size, track->site_traces.data[step->site], &kind);
	if (r < 0)
		return r;
	if (step->what == REPLAY_PASSING) {
		put_passing(track, kind, step->count);
		return 0;
	}
	for (uint64_t i = 0; i < step->count; i++) {
		if (step->what == REPLAY_TAKE)
			heaptrack_lines_take(lines, kind);
		else if (step->what == REPLAY_DROP)
			heaptrack_lines_drop(lines, kind, step->temporary && i == 0);
		else
			heaptrack_lines_pass(lines, kind);
		drop_held(track);
		if (ferror(track->file))
			return -EIO;
	}
	return ferror(track->file) ? -EIO : 0;
}

/*
 * The only text of our own that readers show is what stands behind the program. It comes last,
 * since it says what could not be made true.
 */
static int put_command(struct track *track, struct replay_faults faults)
{
	const struct record_run *run = model_run(view_model(track->view));
	const struct model_process *image = track->process->image;
	size_t others = one_process_others(track->view, track->process);
	_cleanup_strbuf_ struct strbuf text = { 0 };

	strbuf_adds(&text, "X ");
	escape_text(&text, one_process_command(track->view, track->process));
	strbuf_addf(&text, " (pid %" PRIu32 "; ", image->pid);
	escape_text(&text, run ? run->tool : "memtraced");
	strbuf_addf(&text, ", totals %s; sizes of single blocks are means or less",
		    coverage_state_name(coverage_state_of(track->view, track->process)));
	if (track->process->totals.peak_error_bytes > 0)
		strbuf_addf(&text, "; each site's share of the peak accurate to %" PRIu64 " bytes",
			    track->process->totals.peak_error_bytes);
	if (others > 0)
		strbuf_addf(&text, "; without %zu other image%s of this pid", others,
			    others == 1 ? "" : "s");
	if (!knows_peak_rss(track))
		strbuf_adds(&text, "; the peak RSS is not known");
	else if (!track->process->timeline.peak_rss_exact)
		strbuf_adds(&text, "; the peak RSS may have been more");
	if (faults.extra_allocs)
		strbuf_addf(&text, "; %" PRIu64 " calls more than were made", faults.extra_allocs);
	if (view_estimate_totals(&track->process->totals).interval)
		strbuf_adds(&text, "; temporary allocations are not known");
	else if (faults.missing_temporary)
		strbuf_addf(&text, "; %" PRIu64 " temporary allocations are not marked",
			    faults.missing_temporary);
	if (track->lines.n_false)
		strbuf_addf(&text, "; %" PRIu64 " marked temporary are not", track->lines.n_false);
	fprintf(track->file, "%s)\n", strbuf_str(&text));
	return strbuf_error(&text);
}

static bool too_many_calls(const struct track *track)
{
	uint64_t most = view_opts(track->view)->most_calls, n = 0;

	vec_foreach(&track->sites, site)
		if (__builtin_add_overflow(n, site->allocs, &n))
			return true;
	return n > (most ? most : MOST_CALLS);
}

static int write_track(struct track *track)
{
	const struct view_process *process = track->process;
	_cleanup_(heap_replay_free_p) struct heap_replay *replay = NULL;
	int r;

	fprintf(track->file, "v 10400 3\nI %x 0\n", PAGE_BYTES);
	r = add_sites(track);
	if (r == 0)
		r = add_other_sites(track);
	if (r == 0 && too_many_calls(track))
		r = -EFBIG;
	if (r == 0)
		r = heap_replay_new(track->sites.data, track->sites.len, &process->timeline,
				    one_process_end_ns(track->view, process), &replay);
	if (r == 0)
		r = heap_replay_walk(replay, put_step, track);
	if (r < 0)
		return r;
	drop_held(track);
	put_peak_rss(track);
	r = put_command(track, heap_replay_faults(replay));
	fprintf(track->file, "# strings: %zx\n# ips: %zx\n", interns_count(&track->strings),
		interns_count(&track->ips));
	return r;
}

int heaptrack_write_process(const struct view *view, const struct view_process *process, FILE *file)
{
	struct track track = { .file = file, .view = view, .process = process, .held = SIZE_MAX };
	int r;

	heaptrack_lines_begin(&track.lines, file);
	r = write_track(&track);
	interns_done(&track.strings);
	interns_done(&track.ips);
	interns_done(&track.traces);
	heaptrack_lines_done(&track.lines);
	sample_frames_done(&track.frames);
	vec_done(&track.sites);
	vec_done(&track.site_traces);
	return r == 0 && ferror(file) ? -EIO : r;
}
