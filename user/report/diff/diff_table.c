/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has changed, for people: each program's totals before and after, then its sites, what has
 * changed most first. Numbers that are not exact never look as if they were.
 */
#include "report/diff/diff_table.h"

#include "base/saturate.h"
#include "config/units.h"
#include "report/text/coverage_words.h"
#include "report/text/next_words.h"
#include "report/text/table.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Of names of totals. */
#define TOTAL_COLUMNS 10

static enum diff_unit unit_of(enum option_sort sort)
{
	return sort == SORT_COUNT || sort == SORT_TEMPORARY ? DIFF_COUNT : DIFF_BYTES;
}

struct total {
	const char *name;
	int64_t sides[DIFF_SIDES];
	enum diff_unit unit;
	bool at_least; /* what was lost is missing in it */
	/* What of an estimate is this one's margin; none: it is no estimate. */
	size_t ci95;
};
#define CI95(member) offsetof(struct view_estimate, member)

static uint64_t ci95_of(const struct total *total, const struct view_estimate *estimate)
{
	const char *at = (const char *)estimate + total->ci95;
	uint64_t value;

	if (total->ci95 == 0)
		return 0;
	memcpy(&value, at, sizeof(value));
	return value;
}

static void total_line(struct table *t, const struct diff_program *program,
		       const struct total *total)
{
	const struct view_estimate of_change = diff_estimate(program->heap);
	uint64_t margins[DIFF_SIDES], margin = ci95_of(total, &of_change);
	struct diff_line line = {
		.label = total->name,
		.label_columns = TOTAL_COLUMNS,
		.before = total->sides[DIFF_BEFORE],
		.after = total->sides[DIFF_AFTER],
		.unit = total->unit,
		.change_mark = diff_exact(program) ? "" : "~",
	};

	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		line.marks[side] = program->exact[side]					     ? "" :
				   total->at_least && !program->heap[side].estimate.interval ? "≥" :
											       "~";
		margins[side] = ci95_of(total, &program->heap[side].estimate);
	}
	diff_line(t, &line);
	if (margin != 0)
		diff_margins_line(t, &line, margins, margin);
}

static void totals(struct table *t, const struct diff_program *program)
{
	const struct site_sums *heap = program->heap, *mmap = program->mmap;
	const char *at_peak = diff_peaks_differ(program) ? "at peaks" : "at peak";
	/* Samples do not tell it. */
	const bool knows_temporary = !heap[0].estimate.interval && !heap[1].estimate.interval;
	const uint64_t temporary[DIFF_SIDES] = { knows_temporary ? heap[0].temporary : 0,
						 knows_temporary ? heap[1].temporary : 0 };
	/* Reservations of address space, part of what is mapped. */
	const bool knows_inaccessible = diff_knows_inaccessible(program, DIFF_BEFORE) &&
					diff_knows_inaccessible(program, DIFF_AFTER);
	const uint64_t inaccessible[DIFF_SIDES] = {
		knows_inaccessible ? program->inaccessible[0] : 0,
		knows_inaccessible ? program->inaccessible[1] : 0,
	};
#define OF(member)                                                                                 \
	{                                                                                          \
		(int64_t) heap[0].member, (int64_t)heap[1].member                                  \
	}
	const struct total lines[] = {
		{ "live", OF(live_bytes), DIFF_BYTES, false, CI95(ci95_bytes) },
		{ "blocks", OF(live_blocks), DIFF_COUNT, false, CI95(ci95_blocks) },
		{ at_peak, OF(peak_bytes), DIFF_BYTES, false, CI95(ci95_peak_bytes) },
		{ "allocs", OF(allocs), DIFF_COUNT, true, CI95(ci95_allocs) },
		{ "allocated", OF(bytes), DIFF_BYTES, true, CI95(ci95_allocated_bytes) },
		{ "temporary",
		  { (int64_t)temporary[0], (int64_t)temporary[1] },
		  DIFF_COUNT,
		  true,
		  0 },
		{ "mapped", { mmap[0].live_bytes, mmap[1].live_bytes }, DIFF_BYTES, false, 0 },
		{ "PROT_NONE",
		  { (int64_t)inaccessible[0], (int64_t)inaccessible[1] },
		  DIFF_BYTES,
		  false,
		  0 },
	};
#undef OF
	size_t n = sizeof(lines) / sizeof(lines[0]);

	diff_column_heads(t, TOTAL_COLUMNS);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || lines[i].sides[DIFF_BEFORE] || lines[i].sides[DIFF_AFTER])
			total_line(t, program, &lines[i]);
}

static void add_held(struct strbuf *out, const struct site_sums *values, const char *mark,
		     enum option_sort sort, const char *of)
{
	if (sort != SORT_BYTES && sort != SORT_COUNT) {
		diff_number(out, mark, site_sums_value(values, sort), unit_of(sort), false);
		table_quantity_margin(out, &values->estimate, sort);
		return;
	}
	diff_number(out, mark, values->live_bytes, DIFF_BYTES, false);
	table_margin(out, &values->estimate, values->estimate.ci95_bytes);
	strbuf_addf(out, " in %s%" PRId64, mark, values->live_blocks);
	table_count_margin(out, &values->estimate, values->estimate.ci95_blocks);
	strbuf_addf(out, " %s%s", of,
		    table_plural(values->estimate.ci95_blocks ? 0 : (uint64_t)values->live_blocks));
	table_few_samples(out, &values->estimate);
}

/* "64.0 KiB in 1 block before, 128.0 KiB in 2 blocks after" */
static void add_sides(struct strbuf *line, const struct diff_program *program,
		      const struct diff_site *site, enum option_sort sort)
{
	static const char *const names[DIFF_SIDES] = { "before", "after" };
	const char *of = site->class == VIEW_MMAP ? "region" : "block", *comma = "";

	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		if (site->places[side] == 0)
			continue;
		strbuf_adds(line, comma);
		add_held(line, &site->sides[side], program->exact[side] ? "" : "~", sort, of);
		strbuf_addf(line, " %s", names[side]);
		comma = ", ";
	}
}

static void add_allocs(struct strbuf *line, const char *mark, int64_t allocs,
		       const struct view_estimate *estimate)
{
	strbuf_addf(line, "; %s%+" PRId64, mark, allocs);
	table_count_margin(line, estimate, estimate->ci95_allocs);
	strbuf_addf(line, " alloc%s",
		    !estimate->interval && (allocs == 1 || allocs == -1) ? "" : "s");
}

/* "+64.0 KiB live: 64.0 KiB in 1 block before, 128.0 KiB in 2 blocks after; +1 alloc" */
static void site_head(struct table *t, const struct diff_program *program,
		      const struct diff_site *site, size_t rank)
{
	enum option_sort sort = view_opts(t->view)->sort;
	const char *mark = diff_exact(program) ? "" : "~";
	const struct view_estimate estimate = diff_estimate(site->sides);
	_cleanup_strbuf_ struct strbuf line = { 0 };
	int64_t allocs =
		(int64_t)(site->sides[DIFF_AFTER].allocs - site->sides[DIFF_BEFORE].allocs);

	strbuf_addf(&line, "  #%zu  ", rank);
	diff_number(&line, mark, diff_change(site->sides, sort), unit_of(sort), true);
	table_quantity_margin(&line, &estimate, sort);
	strbuf_addf(&line, " %s", table_quantity_name(sort));
	if (estimate.interval && sort != SORT_TEMPORARY &&
	    !diff_significant(diff_change(site->sides, sort), diff_ci95(&estimate, sort)))
		strbuf_adds(&line, ", not significant");
	if (site->places[DIFF_BEFORE] == 0)
		strbuf_adds(&line, ", new: ");
	else if (site->places[DIFF_AFTER] == 0)
		strbuf_adds(&line, ", gone: ");
	else
		strbuf_adds(&line, ": ");
	add_sides(&line, program, site, sort);
	if (allocs != 0)
		add_allocs(&line, mark, allocs, &estimate);
	table_title(t, 8, &line);
}

static void rest_lines(struct table *t, size_t n_hidden, int64_t hidden, size_t n_same,
		       const struct diff_program *program)
{
	enum option_sort sort = view_opts(t->view)->sort;
	const char *mark = diff_exact(program) ? "" : "~";
	_cleanup_strbuf_ struct strbuf change = { 0 };

	if (n_hidden > 0) {
		diff_number(&change, mark, hidden, unit_of(sort), true);
		table_line(t, 4, "  … %zu more site%s, %s %s together; --top 0 shows all", n_hidden,
			   table_plural(n_hidden), strbuf_str(&change), table_quantity_name(sort));
	}
	if (n_same > 0)
		table_line(t, 4, "  … %zu site%s with no change %s%s", n_same, table_plural(n_same),
			   table_quantity_name(sort),
			   sort == SORT_BYTES ? "; --sort compares peak, count, temporary" : "");
	if (program->n_left_out > 0) {
		strbuf_reset(&change);
		diff_number(&change, mark, program->left_out_bytes, DIFF_BYTES, true);
		table_line(t, 4, "  … %zu site%s left out by --where, %s live", program->n_left_out,
			   table_plural(program->n_left_out), strbuf_str(&change));
	}
	strbuf_pass_error(&t->out, &change);
}

static void sites(struct table *t, const struct diff *diff, const struct diff_program *program)
{
	const struct report_opts *opts = &diff->opts;
	size_t rank = 0, n_hidden = 0, n_same = 0;
	int64_t hidden = 0;

	for (size_t i = 0; i < program->n_sites; i++) {
		const struct diff_site *site = &diff->sites.data[program->first + i];
		int64_t change = diff_change(site->sides, opts->sort);

		if (change == 0) {
			n_same++;
			continue;
		}
		if (opts->top > 0 && rank >= opts->top) {
			n_hidden++;
			hidden = saturate_add(hidden, change);
			continue;
		}
		strbuf_addch(&t->out, '\n');
		site_head(t, program, site, ++rank);
		t->no_lines = site->places[DIFF_BEFORE] > 1 || site->places[DIFF_AFTER] > 1;
		table_site_stack(t, &site->site->stack);
	}
	if (rank > 0 && n_hidden + n_same + program->n_left_out > 0)
		strbuf_addch(&t->out, '\n');
	rest_lines(t, n_hidden, hidden, n_same, program);
}

static void program_part(struct table *t, const struct diff *diff,
			 const struct diff_program *program)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	size_t n_new = 0, n_gone = 0;

	for (size_t i = 0; i < program->n_sites; i++) {
		const struct diff_site *site = &diff->sites.data[program->first + i];

		n_new += site->places[DIFF_BEFORE] == 0;
		n_gone += site->places[DIFF_AFTER] == 0;
	}
	if (program->n_sites == 0 && program->n_left_out == 0 && program->heap[0].allocs == 0 &&
	    program->heap[1].allocs == 0)
		return; /* a shell that only starts others, and the like */
	strbuf_addch(&t->out, '\n');
	escape_text(&line, program->name);
	strbuf_addf(&line, ": %zu process%s before, %zu after; %zu site%s, %zu new, %zu gone",
		    program->processes[DIFF_BEFORE],
		    program->processes[DIFF_BEFORE] == 1 ? "" : "es",
		    program->processes[DIFF_AFTER], program->n_sites,
		    table_plural(program->n_sites), n_new, n_gone);
	table_title(t, 4, &line);
	totals(t, program);
	if (diff->opts.group_by == GROUP_BY_SITE)
		sites(t, diff, program);
}

static void add_time(struct strbuf *out, const struct record_run *run, uint64_t now_ns)
{
	time_t seconds = (time_t)(run->start_realtime_ns / 1000000000);
	char date[40], elapsed[FORMAT_UNIT_LEN];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(date, sizeof(date), "%F %T UTC", &tm) > 0)
		strbuf_addf(out, ", %s", date);
	if (now_ns >= run->start_ns)
		strbuf_addf(out, ", %s", format_duration(now_ns - run->start_ns, elapsed));
}

static void run_line(struct table *t, const struct diff_run *run, const char *name)
{
	const struct record_run *record = model_run(view_model(run->view));
	enum coverage_state state = coverage_state(run->view);
	const char *next = next_words(view_model(run->view));
	_cleanup_strbuf_ struct strbuf line = { 0 };

	strbuf_addf(&line, "%-6s  ", name);
	escape_text(&line, run->path);
	if (record)
		add_time(&line, record, view_now_ns(run->view));
	table_wrap(t, 8, &line);
	table_warn(t, true);
	if (run->damaged)
		table_line(t, 8, "        damaged: compared up to the damage");
	if (view_has_estimates(view_model(run->view)))
		strbuf_adds(&t->out, "        ESTIMATES, of samples: ± is 95 %\n");
	else if (state == COVERAGE_ESTIMATES)
		strbuf_adds(&t->out, "        ESTIMATES, of samples\n");
	if (state == COVERAGE_LOST || state == COVERAGE_UNKNOWN)
		strbuf_addf(&t->out, "        %s\n", coverage_state_name(state));
	table_warn(t, false);
	if (next)
		table_line(t, 8, "        %s", next);
}

/* What names of groups need to be read. */
#define LEAST_NAME 16

enum { GROUP_BEFORE, GROUP_AFTER, GROUP_CHANGE, GROUP_BLOCKS, GROUP_ALLOCS, GROUP_COLUMNS };

static const struct table_column group_columns[GROUP_COLUMNS] = {
	[GROUP_BEFORE] = { .head = "LIVE BEFORE", .columns = 13 },
	[GROUP_AFTER] = { .head = "AFTER", .columns = 13 },
	[GROUP_CHANGE] = { .head = "CHANGE", .columns = 13 },
	[GROUP_BLOCKS] = { .head = "BLOCKS", .columns = 10, .is_count = true },
	[GROUP_ALLOCS] = { .head = "ALLOCS", .columns = 10, .is_count = true },
};

/* From *ret_first up to where there is no more room: in narrow windows, changes alone. */
static size_t fitting_columns(const struct table *t, size_t *ret_first, size_t *ret_used)
{
	size_t n = table_fit(t, group_columns, GROUP_COLUMNS, LEAST_NAME, ret_used);

	*ret_first = 0;
	if (n > GROUP_CHANGE)
		return n;
	*ret_first = GROUP_CHANGE;
	return GROUP_CHANGE + table_fit(t, group_columns + GROUP_CHANGE,
					GROUP_COLUMNS - GROUP_CHANGE, LEAST_NAME, ret_used);
}

static void group_margins(struct table *t, const struct site_group *group,
			  const struct view_estimate *of_change)
{
	const struct site_sums *sides = group->sides;
	const uint64_t margins[GROUP_COLUMNS] = {
		[GROUP_BEFORE] = sides[DIFF_BEFORE].estimate.ci95_bytes,
		[GROUP_AFTER] = sides[DIFF_AFTER].estimate.ci95_bytes,
		[GROUP_CHANGE] = of_change->ci95_bytes,
		[GROUP_BLOCKS] = of_change->ci95_blocks,
		[GROUP_ALLOCS] = of_change->ci95_allocs,
	};
	size_t first, used, end = fitting_columns(t, &first, &used);

	for (size_t i = first; i < end; i++)
		if (margins[i] || i > GROUP_AFTER)
			table_margin_cell(t, margins[i], group_columns[i].is_count,
					  group_columns[i].columns);
		else
			strbuf_addf(&t->out, "%*s", (int)group_columns[i].columns, "");
	if (!diff_significant(diff_change(sides, SORT_BYTES), of_change->ci95_bytes))
		strbuf_adds(&t->out, "  not significant");
	strbuf_addch(&t->out, '\n');
}

static void group_line(struct table *t, const struct site_group *group)
{
	const struct site_sums *sides = group->sides;
	const int64_t values[GROUP_COLUMNS] = {
		[GROUP_BEFORE] = sides[DIFF_BEFORE].live_bytes,
		[GROUP_AFTER] = sides[DIFF_AFTER].live_bytes,
		[GROUP_CHANGE] = diff_change(sides, SORT_BYTES),
		[GROUP_BLOCKS] = diff_change(sides, SORT_COUNT),
		[GROUP_ALLOCS] = (int64_t)(sides[DIFF_AFTER].allocs - sides[DIFF_BEFORE].allocs),
	};
	const struct view_estimate estimate = diff_estimate(sides);
	size_t first, used, end = fitting_columns(t, &first, &used);

	for (size_t i = first; i < end; i++)
		diff_cell(t, group->exact ? "" : "~", values[i],
			  group_columns[i].is_count ? DIFF_COUNT : DIFF_BYTES, i >= GROUP_CHANGE,
			  group_columns[i].columns);
	strbuf_adds(&t->out, "  ");
	text_fit(&t->out, group->name, table_rest(t, used));
	strbuf_addch(&t->out, '\n');
	if (estimate.interval)
		group_margins(t, group, &estimate);
}

static int groups_part(struct table *t, const struct diff *diff)
{
	struct site_groups groups;
	int r = diff_groups_make(diff, &groups);
	size_t n_shown = table_shown(t, groups.list.len), first, used;
	size_t end = fitting_columns(t, &first, &used);

	strbuf_addch(&t->out, '\n');
	table_heads(t, group_columns + first, end - first, group_by_name(diff->opts.group_by));
	for (size_t i = 0; r == 0 && i < n_shown; i++)
		group_line(t, &groups.list.data[i]);
	if (r == 0)
		table_more(t, 2, groups.list.len, n_shown, "");
	site_groups_done(&groups);
	return r;
}

/* What is not seen of them is in no difference. */
static void programs_part(struct table *t, const struct view *before)
{
	struct table notes = { .view = t->view };

	table_programs(&notes, before);
	if (notes.out.len > 0)
		strbuf_addf(&t->out, "\n%s", strbuf_str(&notes.out));
	strbuf_pass_error(&t->out, &notes.out);
	strbuf_done(&notes.out);
}

int diff_table_write(const struct diff *diff, FILE *file)
{
	struct table t = { .view = diff->runs[DIFF_AFTER].view };
	int r = 0;

	run_line(&t, &diff->runs[DIFF_BEFORE], "before");
	run_line(&t, &diff->runs[DIFF_AFTER], "after");
	for (size_t i = 0; i < diff->programs.len; i++)
		program_part(&t, diff, &diff->programs.data[i]);
	diff_table_jobs(&t, diff);
	if (diff->programs.len + diff->jobs.n_histograms + diff->jobs.n_events == 0)
		table_line(&t, 0,
			   "\nno process of either run allocated anything; 'memtraced report' of "
			   "each shows what it has seen");
	if (diff->opts.group_by != GROUP_BY_SITE && diff_has_allocations(diff))
		r = groups_part(&t, diff);
	programs_part(&t, diff->runs[DIFF_BEFORE].view);
	if (r == 0)
		r = strbuf_error(&t.out);
	if (r == 0)
		fputs(strbuf_str(&t.out), file);
	strbuf_done(&t.out);
	return r == 0 && ferror(file) ? -EIO : r;
}
