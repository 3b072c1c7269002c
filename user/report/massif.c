/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Massif's output for ms_print and massif-visualizer (FORMATS.md 3): the heap of one process over
 * its run. What each site held is known for all of them at the peak and at the end alone. Of the
 * points of the timeline each tenth has a tree, too, of the sites that were sampled then.
 */
#include "base/interns.h"
#include "base/saturate.h"
#include "base/strbuf.h"
#include "report/massif_tree.h"
#include "report/one_process.h"
#include "report/place_label.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>

/* What a label is made from: strings of the view, whose addresses tell them apart. */
struct frame_key {
	const struct view_place *place;
	const char *function, *linkage, *file, *mark;
	uint32_t line, padding;
};

struct frame_label {
	uint32_t number; /* in the tree */
	bool is_allocator;
};

struct massif {
	FILE *file;
	const struct view *view;
	const struct view_process *process;
	struct massif_options options;
	struct sample_frames frames;	/* of the stack at hand */
	struct interns keys;		/* of frames */
	VEC(struct frame_label) labels; /* of these keys */
	struct massif_tree tree;	/* of add_stacks() */
	size_t n_snapshots;
	uint64_t latest; /* time of the one before */
};

/* As massif's --detailed-freq is by default. */
#define DETAILED_EACH 10
/* Moments that are no index of a point. */
#define AT_PEAK SIZE_MAX
#define AT_END (SIZE_MAX - 1)

/* Text as the format can have it: ms_print takes the rest of a line from a '#' on for a comment. */
static void add_text(struct strbuf *out, const char *text)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };

	escape_text(&clean, text);
	for (const char *c = strbuf_str(&clean); *c; c++)
		strbuf_addch(out, *c == '#' ? '@' : *c);
	strbuf_pass_error(out, &clean);
}

/* At no moment that is shown. */
static bool holds_nothing(const struct view_site *site)
{
	return site->class != VIEW_HEAP ||
	       (site->peak_bytes <= 0 && site->live_bytes <= 0 && !site->series.live_bytes);
}

static int add_label(struct massif *massif, const struct sample_frame *frame)
{
	struct frame_label label = { .is_allocator = place_is_allocator(frame) };
	_cleanup_strbuf_ struct strbuf place = { 0 }, text = { 0 };
	int r;

	place_label(&place, frame);
	add_text(&text, strbuf_str(&place));
	r = strbuf_error(&text);
	if (r == 0)
		r = massif_tree_label(&massif->tree, strbuf_str(&text), &label.number);
	return r < 0 ? r : vec_push(&massif->labels, label);
}

/* *ret_label: until the next one. */
static int find_label(struct massif *massif, const struct sample_frame *frame,
		      const struct frame_label **ret_label)
{
	const struct frame_key key = {
		.place = frame->frame.place,
		.function = frame->frame.function,
		.linkage = frame->frame.linkage,
		.file = frame->frame.file,
		.mark = frame->mark,
		.line = frame->frame.line,
	};
	size_t number;
	int r = interns_add(&massif->keys, &key, sizeof(key), &number);

	if (r > 0)
		r = add_label(massif, frame);
	if (r == 0)
		*ret_label = &massif->labels.data[number];
	return r;
}

/* Without the allocator functions that it begins with. */
static int add_site(struct massif *massif, const struct view_site *site)
{
	int r = massif_tree_begin(&massif->tree);
	bool begun = false;

	if (r < 0 || holds_nothing(site))
		return r;
	r = sample_frames_fill(&massif->frames, &site->stack);
	for (size_t i = 0; r == 0 && i < massif->frames.list.len; i++) {
		const struct frame_label *label;

		r = find_label(massif, &massif->frames.list.data[i], &label);
		if (r < 0 || (!begun && label->is_allocator))
			continue;
		begun = true;
		r = massif_tree_push(&massif->tree, label->number);
	}
	return r;
}

/* Each site has the tree's stack of its number, and what no site shown held has the one behind. */
static int add_stacks(struct massif *massif)
{
	uint32_t other;
	int r = massif_tree_label(&massif->tree, "0x0: [other sites]", &other);

	for (size_t i = 0; r == 0 && i < massif->process->n_sites; i++)
		r = add_site(massif, &massif->process->sites[i]);
	if (r == 0)
		r = massif_tree_begin(&massif->tree);
	return r < 0 ? r : massif_tree_push(&massif->tree, other);
}

/* 0: nothing, or it is not known. */
static uint64_t site_bytes(const struct view_site *site, size_t at)
{
	const struct view_series *series = &site->series;

	if (site->class != VIEW_HEAP)
		return 0;
	if (at == AT_PEAK)
		return saturate_unsigned(site->peak_bytes);
	if (at == AT_END)
		return saturate_unsigned(site->live_bytes);
	return series->live_bytes && at >= series->first ?
		       saturate_unsigned(series->live_bytes[at]) :
		       0;
}

/* `bytes`, or what the sites held where that is more. */
static uint64_t hold_sites(struct massif *massif, uint64_t bytes, size_t at)
{
	size_t n = massif->process->n_sites;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t held = site_bytes(&massif->process->sites[i], at);

		massif_tree_hold(&massif->tree, i, held);
		sum = saturate_add_u64(sum, held);
	}
	massif_tree_hold(&massif->tree, n, sum < bytes ? bytes - sum : 0);
	return sum < bytes ? bytes : sum;
}

static uint64_t time_of(const struct massif *massif, const struct view_point *point)
{
	return massif->options.time_unit == MASSIF_BYTES ?
		       point->bytes :
		       one_process_own_ms(massif->view, massif->process, point->time_ns);
}

/* Readers want times that never go back; clocks of several CPUs may differ a little. */
static void put_snapshot(struct massif *massif, uint64_t time, uint64_t bytes, const char *tree)
{
	if (time < massif->latest)
		time = massif->latest;
	massif->latest = time;
	fprintf(massif->file, "#-----------\nsnapshot=%zu\n#-----------\n", massif->n_snapshots++);
	fprintf(massif->file,
		"time=%" PRIu64 "\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\n",
		time, bytes);
	fprintf(massif->file, "heap_tree=%s\n", tree);
}

/*
 * Parents are the sums of their children: what no site shown held is a child of its own. Where
 * sites hold more than the process, which is not exact then, it gets as much: ms_print stops at a
 * node that has more than its snapshot. A point of the timeline stays as it is, without a tree.
 */
static int put_detailed(struct massif *massif, uint64_t time, uint64_t bytes, size_t at)
{
	uint64_t held = hold_sites(massif, bytes, at);

	if (held == 0 || (at < AT_END && held > bytes)) {
		put_snapshot(massif, time, bytes, "empty");
		return 0;
	}
	put_snapshot(massif, time, held, at == AT_PEAK ? "peak" : "detailed");
	return massif_tree_write(&massif->tree, massif->options.threshold, held, massif->file);
}

/* The end of the timeline, or what is known without one. */
static struct view_point end_point(const struct massif *massif)
{
	const struct view_timeline *timeline = &massif->process->timeline;
	const struct record_totals *totals = &massif->process->totals;

	if (timeline->n > 0)
		return timeline->points[timeline->n - 1];
	return (struct view_point){
		.time_ns = one_process_end_ns(massif->view, massif->process),
		.live_bytes = (int64_t)saturate_unsigned(totals->live_bytes),
		.bytes = totals->bytes,
	};
}

/*
 * The samples, evenly thinned out so that peak and end still find room; the peak among them. Where
 * its time is not known it stands at the end. How much had been allocated by then is not known
 * either: by bytes, it stands at the sample after it.
 */
static int put_snapshots(struct massif *massif)
{
	const struct view_timeline *timeline = &massif->process->timeline;
	uint64_t peak_bytes = saturate_unsigned(massif->process->totals.peak_bytes);
	const struct view_point end = end_point(massif);
	size_t n_samples = timeline->n > 0 ? timeline->n - 1 : 0, n = n_samples;
	bool peak_due = peak_bytes > 0;
	int r = 0;

	if (massif->options.max_snapshots > 0 && n > massif->options.max_snapshots - 2)
		n = massif->options.max_snapshots - 2;
	for (size_t i = 0; r == 0 && i <= n; i++) {
		const struct view_point *point =
			i < n ? &timeline->points[i * n_samples / n] : &end;

		if (peak_due && (i == n || point->time_ns > timeline->peak_ns)) {
			uint64_t time = time_of(massif, point);

			if (massif->options.time_unit == MASSIF_MS &&
			    timeline->peak_ns < point->time_ns)
				time = one_process_own_ms(massif->view, massif->process,
							  timeline->peak_ns);
			r = put_detailed(massif, time, peak_bytes, AT_PEAK);
			peak_due = false;
		}
		if (r == 0 && i < n && i % DETAILED_EACH == DETAILED_EACH - 1)
			r = put_detailed(massif, time_of(massif, point),
					 saturate_unsigned(point->live_bytes), i * n_samples / n);
		else if (r == 0 && i < n)
			put_snapshot(massif, time_of(massif, point),
				     saturate_unsigned(point->live_bytes), "empty");
	}
	return r < 0 ? r :
		       put_detailed(massif, time_of(massif, &end),
				    saturate_unsigned(end.live_bytes), AT_END);
}

static int put_header(const struct massif *massif)
{
	const struct record_run *run = model_run(view_model(massif->view));
	const struct view_process *process = massif->process;
	const struct model_process *image = process->image;
	size_t others = one_process_others(massif->view, process);
	_cleanup_strbuf_ struct strbuf text = { 0 };

	strbuf_adds(&text, "desc: ");
	add_text(&text, run ? run->tool : "memtraced");
	strbuf_addf(&text, ", pid %" PRIu32 ", --threshold=%u.%02u, %s", image->pid,
		    massif->options.threshold / 100, massif->options.threshold % 100,
		    coverage_state_name(coverage_state_of(massif->view, process)));
	if (process->totals.peak_error_bytes > 0)
		strbuf_addf(&text, ", each site's share of the peak accurate to %" PRIu64 " bytes",
			    process->totals.peak_error_bytes);
	if (others > 0)
		strbuf_addf(&text, ", without %zu other image%s of this pid", others,
			    others == 1 ? "" : "s");
	strbuf_adds(&text, "\ncmd: ");
	add_text(&text, one_process_command(massif->view, process));
	strbuf_addf(&text, "\ntime_unit: %s\n",
		    massif->options.time_unit == MASSIF_BYTES ? "B" : "ms");
	fputs(strbuf_str(&text), massif->file);
	return strbuf_error(&text);
}

int massif_write_process(const struct view *view, const struct view_process *process, FILE *file)
{
	struct massif massif = {
		.file = file,
		.view = view,
		.process = process,
		.options = view_opts(view)->massif,
	};
	int r = put_header(&massif);

	if (r == 0)
		r = add_stacks(&massif);
	if (r == 0)
		r = put_snapshots(&massif);
	sample_frames_done(&massif.frames);
	interns_done(&massif.keys);
	vec_done(&massif.labels);
	massif_tree_done(&massif.tree);
	return r == 0 && ferror(file) ? -EIO : r;
}
