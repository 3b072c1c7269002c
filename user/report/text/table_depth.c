/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What counting has cost; with --max-overhead also how closely each image was looked at, and when
 * that changed.
 */
#include "config/units.h"
#include "report/text/cost_words.h"
#include "report/text/table.h"

#include <inttypes.h>

static bool is_governed(const struct table *t)
{
	return depths_overhead(model_depths(view_model(t->view))) != NULL;
}

/* A time of the run, from its start. */
static const char *run_time(const struct table *t, uint64_t time_ns, char buf[FORMAT_UNIT_LEN])
{
	const struct record_run *run = model_run(view_model(t->view));
	uint64_t start_ns = run ? run->start_ns : 0;

	return format_duration(time_ns > start_ns ? time_ns - start_ns : 0, buf);
}

void table_stretch_begin(const struct table *t, const struct model_process *image,
			 struct strbuf *out)
{
	char time[FORMAT_UNIT_LEN];

	strbuf_addf(out, "from %s", run_time(t, image->start_ns, time));
}

void table_stretch_end(const struct table *t, const struct model_process *image, struct strbuf *out)
{
	char time[FORMAT_UNIT_LEN];

	if (image->ended && image->how == RECORD_END_DEPTH)
		strbuf_addf(out, "to %s", run_time(t, image->end_ns, time));
	else
		strbuf_adds(out, "on");
}

void table_process_depth(struct table *t, const struct view_process *process)
{
	static const char *const names[][2] = {
		[RECORD_DEPTH_EXACT] = { "all calls are counted", "all calls were counted" },
		[RECORD_DEPTH_SAMPLED] = { "samples are counted, all numbers are ESTIMATES",
					   "samples were counted, all numbers are ESTIMATES" },
		[RECORD_DEPTH_GROWTH] = { "heap: not counted, but for page faults",
					  "heap: not counted, but for page faults" },
	};
	const struct model_process *image = process->image;
	bool goes_on = image->ended && image->how == RECORD_END_DEPTH;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!is_governed(t) || model_depths(view_model(t->view))->changes.len == 0)
		return;
	strbuf_addf(&line, "  %s, ", names[image->depth][goes_on]);
	table_stretch_begin(t, image, &line);
	strbuf_addch(&line, ' ');
	table_stretch_end(t, image, &line);
	if (goes_on)
		strbuf_adds(&line, ": blocks that were live then may be freed now");
	if (!image_is_none(image->prev_id) && image->depth != RECORD_DEPTH_GROWTH)
		strbuf_adds(&line, "; earlier blocks are not known");
	table_wrap(t, 8, &line);
}

static void add_kept(struct strbuf *line, const struct record_depth_change *change, const char *all)
{
	if (change->doublings)
		strbuf_addf(line, "one sample in %u, which stands for the others: ",
			    1U << (change->doublings & 31));
	else
		strbuf_addf(line, "%s: ", all);
}

/* Images go on, with another interval. */
static void one_interval(struct table *t, const struct record_depth_change *change, bool is_longer)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char time[FORMAT_UNIT_LEN];

	strbuf_addf(&line, "depth: from %s on ", run_time(t, change->time_ns, time));
	add_kept(&line, change, "all samples");
	strbuf_adds(&line, is_longer ? "they took more than their share, estimates are as right "
				       "as before and less exact" :
				       "there is room for more");
	table_wrap(t, 7, &line);
}

static void one_change(struct table *t, const struct record_depth_change *change)
{
	static const char *const names[] = {
		[RECORD_DEPTH_EXACT] = "all calls",
		[RECORD_DEPTH_SAMPLED] = "samples",
		[RECORD_DEPTH_GROWTH] = "page faults alone",
	};
	const struct record_run *run = model_run(view_model(t->view));
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char time[FORMAT_UNIT_LEN], rate[FORMAT_UNIT_LEN];
	bool is_first = run && change->time_ns <= run->start_ns;

	strbuf_addf(&line, "depth: from %s on ",
		    is_first ? "the start" : run_time(t, change->time_ns, time));
	add_kept(&line, change, names[change->depth]);
	if (is_first)
		strbuf_adds(&line, "the overhead budget does not cover exact counting yet");
	else if (change->predicted_ppm == UINT64_MAX)
		strbuf_adds(&line, "tried, as nothing tells what it would cost");
	else
		strbuf_addf(&line, "%s%s calls/s, of which all would take %.1f %% of the CPU time",
			    change->depth == RECORD_DEPTH_EXACT ? "~" : "",
			    format_count((int64_t)change->calls_per_s, rate),
			    (double)change->predicted_ppm / 10000);
	table_wrap(t, 7, &line);
}

/* Of a limit that was reached, though it was not given. */
static void limit_words(const struct record_overhead *overhead, struct strbuf *line)
{
	strbuf_addf(line, "; the limit was %" PRIu64 " %%: --max-overhead=none counts all calls",
		    overhead->max_ppm / 10000);
}

/* `overhead`: of a limit that was reached, though it was not given; NULL: of none. */
static void put_cost(struct table *t, const struct record_cost *cost,
		     const struct record_overhead *overhead)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	strbuf_adds(&line, "cost: ");
	cost_words(cost, &line);
	if (overhead)
		limit_words(overhead, &line);
	else if (cost_is_high(cost))
		cost_bound_words(cost, &line);
	table_wrap(t, 6, &line);
}

static void put_overhead(struct table *t, const struct record_overhead *overhead, bool was_given)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char time[FORMAT_UNIT_LEN];

	strbuf_addf(&line,
		    "overhead: %.2f %% of %s of CPU time (a fifth of one CPU at least) predicted, ",
		    (double)overhead->predicted_ppm / 10000,
		    format_duration(overhead->cpu_ns, time));
	strbuf_addf(&line, "by calls of %" PRIu64 " ns and samples of %" PRIu64 "; ",
		    overhead->call_ns, overhead->sample_ns);
	if (overhead->measured_ppm == UINT64_MAX)
		strbuf_adds(&line, "not measured");
	else
		strbuf_addf(&line, "%.2f %% measured", (double)overhead->measured_ppm / 10000);
	strbuf_adds(&line, " (the kernel's count of the BPF programs' time, and an estimate for "
			   "traps and cache misses)");
	if (was_given)
		strbuf_addf(&line, "; asked for: %.2f %%", (double)overhead->max_ppm / 10000);
	else
		limit_words(overhead, &line);
	table_wrap(t, 10, &line);
}

void table_depths(struct table *t)
{
	const struct depths *depths = model_depths(view_model(t->view));
	const struct record_overhead *overhead = depths_overhead(depths);
	const struct record_cost *cost = depths_cost(depths);

	for (size_t i = 0; i < depths->changes.len; i++) {
		const struct record_depth_change *change = &depths->changes.data[i];
		const struct record_depth_change *last = i ? &depths->changes.data[i - 1] : NULL;

		if (last && last->depth == change->depth)
			one_interval(t, change, change->doublings > last->doublings);
		else
			one_change(t, change);
	}
	if (cost && cost_is_known(cost))
		put_cost(t, cost, overhead);
	else if (overhead)
		put_overhead(t, overhead, !cost);
}
