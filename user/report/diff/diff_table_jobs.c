/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has changed of events and histograms, for people: totals of an event, then its stacks, what
 * has changed most first; of a histogram, group by group, the buckets side by side.
 */
#include "base/saturate.h"
#include "report/diff/diff_table.h"
#include "report/text/table_out.h"

#include <inttypes.h>

#define LABEL_COLUMNS 16
#define TIMES_COLUMNS 10

static bool run_exact(const struct diff *diff, unsigned int side)
{
	return view_lost_nothing(diff->runs[side].view);
}

static bool both_exact(const struct diff *diff)
{
	return run_exact(diff, DIFF_BEFORE) && run_exact(diff, DIFF_AFTER);
}

/* Before, after and change. `least`: what was lost is missing; `estimate`: not counted. */
struct numbers {
	uint64_t sides[DIFF_SIDES];
	enum diff_unit unit;
	bool estimate, least;
};

static void number_line(struct table *t, const struct diff *diff, const char *label,
			size_t label_columns, const struct numbers *numbers)
{
	const char *lost = numbers->least ? "≥" : "~";
	struct diff_line line = {
		.label = label,
		.label_columns = label_columns,
		.before = saturate_signed(numbers->sides[DIFF_BEFORE]),
		.after = saturate_signed(numbers->sides[DIFF_AFTER]),
		.unit = numbers->unit,
		.change_mark = numbers->estimate || !both_exact(diff) ? "~" : "",
	};

	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		line.marks[side] = numbers->estimate ? "~" : !run_exact(diff, side) ? lost : "";
	diff_line(t, &line);
}

static const char *times_name(const struct diff_event *event)
{
	const struct record_event *asked = event->sides[DIFF_AFTER]->asked;

	if (view_event_sampled(event->sides[DIFF_BEFORE]) ||
	    view_event_sampled(event->sides[DIFF_AFTER]))
		return "samples";
	return asked->timed ? "waits" : "times";
}

static void event_totals(struct table *t, const struct diff *diff, const struct diff_event *event)
{
	const struct view_event *before = event->sides[DIFF_BEFORE];
	const struct view_event *after = event->sides[DIFF_AFTER];
	const struct record_event *asked = after->asked;
	const struct numbers times = { .sides = { before->count, after->count }, .least = true };
	struct numbers other = { .sides = { view_event_total(before), view_event_total(after) },
				 .unit = asked->timed || asked->period_ns ? DIFF_NS : DIFF_COUNT,
				 .estimate = !asked->timed };

	if (asked->period_ns)
		for (unsigned int side = 0; side < DIFF_SIDES; side++)
			other.sides[side] *= asked->period_ns;
	diff_column_heads(t, TIMES_COLUMNS);
	number_line(t, diff, times_name(event), TIMES_COLUMNS, &times);
	if (!asked->timed && !view_event_sampled(before) && !view_event_sampled(after))
		return;
	number_line(t, diff,
		    asked->timed     ? "waited" :
		    asked->period_ns ? "CPU time" :
				       "times",
		    TIMES_COLUMNS, &other);
}

/* "  #1  +3.2 s in +5 waits: 1.0 s before, 4.2 s after; server" */
static void stack_head(struct table *t, const struct diff *diff, const struct diff_event *event,
		       const struct diff_stack *stack, size_t rank)
{
	const struct record_event *asked = event->sides[DIFF_AFTER]->asked;
	bool estimate = !asked->period_ns && (view_event_sampled(event->sides[DIFF_BEFORE]) ||
					      view_event_sampled(event->sides[DIFF_AFTER]));
	const char *mark = estimate || !both_exact(diff) ? "~" : "", *comma = "";
	static const char *const names[DIFF_SIDES] = { "before", "after" };
	enum diff_unit unit = asked->timed ? DIFF_NS : DIFF_COUNT;
	const int64_t values[DIFF_SIDES] = { saturate_signed(stack->values[DIFF_BEFORE]),
					     saturate_signed(stack->values[DIFF_AFTER]) };
	int64_t waits = saturate_signed(stack->counts[DIFF_AFTER]) -
			saturate_signed(stack->counts[DIFF_BEFORE]);
	const char *const is = !stack->seen[DIFF_BEFORE] ? ", new" :
			       !stack->seen[DIFF_AFTER]	 ? ", gone" :
							   "";
	_cleanup_strbuf_ struct strbuf line = { 0 };

	strbuf_addf(&line, "  #%zu  ", rank);
	diff_number(&line, mark, values[DIFF_AFTER] - values[DIFF_BEFORE], unit, true);
	if (asked->timed && waits != 0)
		strbuf_addf(&line, " in %s%+" PRId64 " wait%s", mark, waits,
			    waits == 1 || waits == -1 ? "" : "s");
	if (!asked->timed)
		strbuf_addf(&line, " %s", asked->period_ns ? "samples" : "times");
	strbuf_addf(&line, "%s: ", is);
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		if (!stack->seen[side])
			continue;
		strbuf_adds(&line, comma);
		diff_number(&line, estimate || !run_exact(diff, side) ? "~" : "", values[side],
			    unit, false);
		strbuf_addf(&line, " %s", names[side]);
		comma = ", ";
	}
	strbuf_adds(&line, "; ");
	escape_text(&line, *stack->image->comm ? stack->image->comm : "unknown");
	table_title(t, 8, &line);
}

static void stacks(struct table *t, const struct diff *diff, const struct diff_event *event)
{
	const struct report_opts *opts = &diff->opts;
	size_t n_shown = 0, n_hidden = 0, n_same = 0;

	for (size_t i = 0; i < event->n_stacks; i++) {
		const struct diff_stack *stack = &event->stacks[i];

		if (stack->values[DIFF_BEFORE] == stack->values[DIFF_AFTER]) {
			n_same++;
		} else if (opts->top > 0 && n_shown >= opts->top) {
			n_hidden++;
		} else {
			strbuf_addch(&t->out, '\n');
			stack_head(t, diff, event, stack, ++n_shown);
			t->no_lines = true; /* several places of a function are one */
			table_stack(t, stack->stack);
		}
	}
	if (n_shown > 0 && n_hidden + n_same > 0)
		strbuf_addch(&t->out, '\n');
	table_more(t, 2, n_shown + n_hidden, n_shown, " stack");
	if (n_same > 0)
		strbuf_addf(&t->out, "  … %zu stack%s with no change\n", n_same,
			    table_plural(n_same));
}

/* A line of bold text, below an empty one. */
static void head_line(struct table *t, const struct strbuf *line)
{
	strbuf_addch(&t->out, '\n');
	table_title(t, 4, line);
}

static void only_in(struct table *t, const char *name, const struct record_event *asked,
		    bool earlier)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };

	escape_text(&line, name);
	strbuf_addf(&line, ": not compared, only in the %s run", earlier ? "earlier" : "later");
	if (asked && asked->period_ns)
		strbuf_addf(&line, " at %.0f a second", 1e9 / (double)asked->period_ns);
	head_line(t, &line);
}

static void event_part(struct table *t, const struct diff *diff, const struct diff_event *event)
{
	const struct view_event *before = event->sides[DIFF_BEFORE];
	const struct view_event *after = event->sides[DIFF_AFTER];
	_cleanup_strbuf_ struct strbuf line = { 0 };
	size_t n_new = 0, n_gone = 0;

	if (!diff_event_in_both(event)) {
		const struct record_event *asked = before ? before->asked : after->asked;

		only_in(t, asked->name, asked, before);
		return;
	}
	for (size_t i = 0; i < event->n_stacks; i++) {
		n_new += !event->stacks[i].seen[DIFF_BEFORE];
		n_gone += !event->stacks[i].seen[DIFF_AFTER];
	}
	escape_text(&line, after->asked->name);
	strbuf_addf(&line, ": %zu stack%s, %zu new, %zu gone", event->n_stacks,
		    table_plural(event->n_stacks), n_new, n_gone);
	head_line(t, &line);
	event_totals(t, diff, event);
	stacks(t, diff, event);
}

static void bucket_lines(struct table *t, const struct diff *diff,
			 const struct record_histogram *asked,
			 const struct record_hist_counts *before,
			 const struct record_hist_counts *after)
{
	for (size_t i = 0, j = 0; i < before->n_buckets || j < after->n_buckets;) {
		const struct record_bucket *b = i < before->n_buckets ? &before->buckets[i] : NULL;
		const struct record_bucket *a = j < after->n_buckets ? &after->buckets[j] : NULL;
		const struct record_bucket *at = !a || (b && b->lo < a->lo) ? b : a;
		bool has_before = b && b->lo == at->lo, has_after = a && a->lo == at->lo;
		const struct numbers numbers = { .sides = { has_before ? b->count : 0,
							    has_after ? a->count : 0 },
						 .least = true };
		_cleanup_strbuf_ struct strbuf label = { 0 };

		bucket_label(&label, asked, at->lo, at->hi);
		number_line(t, diff, strbuf_str(&label), LABEL_COLUMNS, &numbers);
		strbuf_pass_error(&t->out, &label);
		i += has_before;
		j += has_after;
	}
}

static uint64_t errors_of(const struct record_hist_counts *counts, uint32_t number)
{
	for (size_t i = 0; i < counts->n_errors; i++)
		if (counts->errors[i].number == number)
			return counts->errors[i].count;
	return 0;
}

/* Those of `counts`, but for what `seen`, of which they stand there already, has as well. */
static void error_lines(struct table *t, const struct diff *diff,
			const struct record_hist_counts *counts,
			const struct record_hist_counts *const sides[DIFF_SIDES],
			const struct record_hist_counts *seen)
{
	char name[TEXT_ERRNO_LEN];

	for (size_t i = 0; i < counts->n_errors; i++) {
		uint32_t number = counts->errors[i].number;
		const struct numbers numbers = {
			.sides = { errors_of(sides[DIFF_BEFORE], number),
				   errors_of(sides[DIFF_AFTER], number) },
			.least = true,
		};

		if (seen && errors_of(seen, number) > 0)
			continue;
		number_line(t, diff, text_errno(number, name), LABEL_COLUMNS, &numbers);
	}
}

static void group_part(struct table *t, const struct diff *diff,
		       const struct record_histogram *asked, const struct diff_hist_group *group)
{
	static const struct record_hist_counts none = { 0 };
	const struct view_group *before = group->sides[DIFF_BEFORE];
	const struct view_group *after = group->sides[DIFF_AFTER];
	const struct record_hist_counts *const sides[] = { before ? before->counts : &none,
							   after ? after->counts : &none };
	const struct numbers all = {
		.sides = { before ? before->count : 0, after ? after->count : 0 }, .least = true
	};
	const char *key = after ? after->counts->key : before->counts->key;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	table_group_name(&line, asked, key);
	strbuf_adds(&line, !before ? ", new" : !after ? ", gone" : "");
	head_line(t, &line);
	diff_column_heads(t, LABEL_COLUMNS);
	number_line(t, diff, "all", LABEL_COLUMNS, &all);
	bucket_lines(t, diff, asked, sides[DIFF_BEFORE], sides[DIFF_AFTER]);
	error_lines(t, diff, sides[DIFF_AFTER], sides, NULL);
	error_lines(t, diff, sides[DIFF_BEFORE], sides, sides[DIFF_AFTER]);
}

static void histogram_part(struct table *t, const struct diff *diff,
			   const struct diff_histogram *histogram)
{
	const struct view_histogram *before = histogram->sides[DIFF_BEFORE];
	const struct view_histogram *after = histogram->sides[DIFF_AFTER];
	size_t n_shown = table_shown(t, histogram->n_groups);
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!diff_histogram_in_both(histogram)) {
		only_in(t, before ? before->asked->spec : after->asked->spec, NULL, before);
		return;
	}
	if (histogram->n_groups == 0) {
		strbuf_adds(&line, "@: ");
		escape_text(&line, after->asked->spec);
		strbuf_adds(&line, ": nothing counted, before or after");
		head_line(t, &line);
	}
	for (size_t i = 0; i < n_shown; i++)
		group_part(t, diff, after->asked, &histogram->groups[i]);
	table_more(t, 0, histogram->n_groups, n_shown, " group");
}

void diff_table_jobs(struct table *t, const struct diff *diff)
{
	const struct diff_jobs *jobs = &diff->jobs;

	for (size_t i = 0; i < jobs->n_histograms; i++)
		histogram_part(t, diff, &jobs->histograms[i]);
	for (size_t i = 0; i < jobs->n_events; i++)
		event_part(t, diff, &jobs->events[i]);
}
