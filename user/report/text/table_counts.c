/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was counted, in the table: histograms as bpftrace prints them (its labels, its columns, its
 * bars), and events with their stacks. Columns that a value does not fit into grow at the cost of
 * the bar, so that lines keep to the width of the report.
 */
#include "base/saturate.h"
#include "config/units.h"
#include "report/text/next_words.h"
#include "report/text/table.h"
#include "report/text/table_out.h"
#include "report/view/site_groups.h"

#include <inttypes.h>
#include <string.h>

#define LABEL_COLUMNS 16
#define COUNT_COLUMNS 8
#define BAR_COLUMNS 52
#define BAR_MIN 5

/* More empty buckets than this in a row are one line: only a damaged recording has them. */
#define MAX_GAP 1024

struct chart {
	struct table *t;
	const struct record_histogram *asked;
	uint64_t max; /* largest count */
	size_t label_columns, count_columns, bar_columns;
	bool measuring; /* nothing is printed yet */
};

static void bucket_line(struct chart *chart, int64_t lo, int64_t hi, uint64_t count)
{
	struct strbuf *out = &chart->t->out;
	_cleanup_strbuf_ struct strbuf label = { 0 };
	char number[24];
	size_t bar;

	bucket_label(&label, chart->asked, lo, hi);
	strbuf_pass_error(out, &label);
	snprintf(number, sizeof(number), "%" PRIu64, count);
	if (chart->measuring) {
		if (label.len > chart->label_columns)
			chart->label_columns = label.len;
		if (strlen(number) > chart->count_columns)
			chart->count_columns = strlen(number);
		if (count > chart->max)
			chart->max = count;
		return;
	}
	strbuf_addf(out, "%-*s%*s |", (int)chart->label_columns, strbuf_str(&label),
		    (int)chart->count_columns, number);
	bar = (size_t)((unsigned __int128)count * chart->bar_columns / chart->max);
	for (size_t i = 0; i < chart->bar_columns; i++)
		strbuf_addch(out, i < bar ? '@' : ' ');
	strbuf_adds(out, "|\n");
}

/* Where the bucket ends that begins at lo; `end` at most. */
static int64_t next_bound(const struct record_histogram *asked, int64_t lo, int64_t end)
{
	int64_t hi;

	if (asked->linear) {
		if (asked->step == 0 || asked->step > INT64_MAX ||
		    __builtin_add_overflow(lo, (int64_t)asked->step, &hi))
			return end;
	} else if (lo <= 0) {
		hi = lo < 0 ? 0 : 1;
	} else if (__builtin_add_overflow(lo, lo, &hi)) {
		return end;
	}
	return hi < end ? hi : end;
}

static void gap_lines(struct chart *chart, int64_t lo, int64_t end)
{
	for (int n = 1; lo < end; n++) {
		int64_t hi = n < MAX_GAP ? next_bound(chart->asked, lo, end) : end;

		bucket_line(chart, lo, hi, 0);
		lo = hi;
	}
}

/* From the first filled bucket to the last; empty ones in between stand there, too. */
static void bucket_lines(struct chart *chart, const struct record_hist_counts *counts)
{
	for (size_t i = 0; i < counts->n_buckets; i++) {
		const struct record_bucket *bucket = &counts->buckets[i];

		if (i > 0)
			gap_lines(chart, bucket[-1].hi, bucket->lo);
		bucket_line(chart, bucket->lo, bucket->hi, bucket->count);
	}
}

static void draw_histogram(struct table *t, const struct record_histogram *asked,
			   const struct record_hist_counts *counts)
{
	struct chart chart = {
		.t = t,
		.asked = asked,
		.max = 1,
		.label_columns = LABEL_COLUMNS,
		.count_columns = COUNT_COLUMNS,
		.measuring = true,
	};
	size_t used;

	bucket_lines(&chart, counts);
	if (chart.label_columns > LABEL_COLUMNS)
		chart.count_columns++; /* a space between them */
	used = chart.label_columns + chart.count_columns + strlen(" ||");
	chart.bar_columns = view_opts(t->view)->width - 1 > used + BAR_MIN ?
				    view_opts(t->view)->width - 1 - used :
				    BAR_MIN;
	if (chart.bar_columns > BAR_COLUMNS)
		chart.bar_columns = BAR_COLUMNS;
	chart.measuring = false;
	bucket_lines(&chart, counts);
}

/* "@[dd]: read,by=comm (bytes): 100000 counted" */
static void group_head(struct table *t, const struct record_histogram *asked,
		       const struct view_group *group)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char number[TABLE_NUMBER_LEN];

	table_group_name(&line, asked, group ? group->counts->key : NULL);
	strbuf_addf(&line, ": %s counted",
		    group ? table_count(group->count, view_lost_nothing(t->view), number) :
			    "nothing");
	if (!group)
		strbuf_addf(&line, "; %s", next_words_event(NULL));
	table_title(t, 4, &line);
}

static void group_notes(struct table *t, const struct record_hist_counts *counts)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char name[TEXT_ERRNO_LEN];

	for (size_t i = 0; i < counts->n_errors; i++)
		strbuf_addf(&line, "%s%s %" PRIu64, i == 0 ? "errors: " : ", ",
			    text_errno(counts->errors[i].number, name), counts->errors[i].count);
	if (counts->n_errors > 0)
		table_wrap(t, 4, &line);
	if (counts->restarted > 0)
		table_line(t, 4, "restarted after a signal, counted at their return: %" PRIu64,
			   counts->restarted);
	if (counts->passed_on > 0)
		table_line(t, 4, "passed on by another allocator, counted once: %" PRIu64,
			   counts->passed_on);
	strbuf_pass_error(&t->out, &line);
}

static void hidden_groups(struct table *t, const struct view_histogram *histogram, size_t n_shown,
			  uint64_t hidden)
{
	size_t n = histogram->n_groups - n_shown;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char number[TABLE_NUMBER_LEN];

	strbuf_addf(&line, "… %zu more group%s of ", n, table_plural(n));
	escape_text(&line, histogram->asked->spec);
	strbuf_addf(&line, ", %s counted; --top 0 shows all",
		    table_count(hidden, view_lost_nothing(t->view), number));
	table_wrap(t, 2, &line);
	strbuf_addch(&t->out, '\n');
}

static void groups(struct table *t, const struct view_histogram *histogram)
{
	const struct record_histogram *asked = histogram->asked;
	size_t n_shown = table_shown(t, histogram->n_groups);
	uint64_t hidden = 0;

	for (size_t i = 0; i < histogram->n_groups; i++) {
		const struct view_group *group = &histogram->groups[i];

		if (i >= n_shown) {
			hidden += group->count;
			continue;
		}
		group_head(t, asked, group);
		draw_histogram(t, asked, group->counts);
		group_notes(t, group->counts);
		strbuf_addch(&t->out, '\n');
	}
	if (n_shown < histogram->n_groups)
		hidden_groups(t, histogram, n_shown, hidden);
}

void table_histograms(struct table *t)
{
	for (size_t i = 0; i < view_n_histograms(t->view); i++) {
		const struct view_histogram *histogram = view_histogram(t->view, i);

		groups(t, histogram);
		if (histogram->n_groups > 0)
			continue;
		group_head(t, histogram->asked, NULL);
		strbuf_addch(&t->out, '\n');
	}
}

/* Of page faults: what they are in bytes. */
static void add_bytes(struct strbuf *line, const struct view_event *event, uint64_t faults)
{
	char size[FORMAT_UNIT_LEN];

	if (event->asked->page_bytes)
		strbuf_addf(line, ", ~%s",
			    format_size((int64_t)view_event_bytes(event, faults), size));
}

/* What samples stand for is an estimate, also when none was lost. */
static void add_samples(struct strbuf *line, const struct view_event *event)
{
	double seconds = (double)event->count * (double)event->asked->period_ns / 1e9;

	strbuf_addf(line, ": %" PRIu64 " sample%s, ", event->count, table_plural(event->count));
	if (view_event_weighs(event))
		strbuf_addf(line, "~%" PRIu64 " ± %" PRIu64 " times", view_event_total(event),
			    view_event_ci95(event));
	else
		strbuf_addf(line, "~%.*f s of CPU time", seconds < 10 ? 2 : 1, seconds);
}

static void event_head(struct table *t, const struct view_event *event)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char number[TABLE_NUMBER_LEN], time[FORMAT_UNIT_LEN];

	escape_text(&line, event->asked->name);
	if (view_event_sampled(event))
		add_samples(&line, event);
	else if (event->asked->timed)
		strbuf_addf(&line, ": %s in %s wait%s", format_duration(event->ns, time),
			    table_count(event->count, view_lost_nothing(t->view), number),
			    table_plural(event->count));
	else
		strbuf_addf(&line, ": %s time%s",
			    table_count(event->count, view_lost_nothing(t->view), number),
			    table_plural(event->count));
	add_bytes(&line, event, view_event_total(event));
	if (event->asked->page_bytes)
		strbuf_adds(&line, " if all pages are small,");
	strbuf_addf(&line, " on %zu stack%s", event->n_stacks, table_plural(event->n_stacks));
	if (event->count == 0)
		strbuf_addf(&line, "; %s", next_words_event(event->asked));
	table_title(t, 4, &line);
}

static void stack_head(struct table *t, const struct view_event *event,
		       const struct view_event_stack *stack, size_t rank)
{
	bool sampled = view_event_sampled(event), timed = event->asked->timed;
	bool counted = view_lost_nothing(t->view);
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char number[TABLE_NUMBER_LEN], time[FORMAT_UNIT_LEN];
	uint64_t part = view_event_value(event, stack), all = view_event_total(event);

	strbuf_addf(&line, "  #%zu  ", rank);
	if (timed)
		strbuf_addf(&line, "%s in ", format_duration(stack->ns, time));
	if (sampled && view_event_weighs(event))
		strbuf_addf(&line, "~%" PRIu64 " ± %" PRIu64, part,
			    view_event_stack_ci95(event, stack));
	else
		strbuf_adds(&line, table_count(stack->count, counted || sampled, number));
	add_bytes(&line, event, part);
	strbuf_addf(&line, ", %s%.1f%%, ", counted && !sampled ? "" : "~",
		    100.0 * (double)part / (double)(all ? all : 1));
	table_process(&line, stack->image);
	table_title(t, 8, &line);
}

/* The stacks from n_shown on. */
static void hidden_stacks(struct table *t, const struct view_event *event, size_t n_shown)
{
	size_t n = event->n_stacks - n_shown;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	uint64_t count = 0, value = 0;
	char number[TABLE_NUMBER_LEN];

	for (size_t i = n_shown; i < event->n_stacks; i++) {
		count = saturate_add_u64(count, event->stacks[i].count);
		value = saturate_add_u64(value, view_event_value(event, &event->stacks[i]));
	}
	strbuf_addf(&line, "  … %zu more stack%s, ", n, table_plural(n));
	if (view_event_weighs(event))
		strbuf_addf(&line, "~%" PRIu64 " times", value);
	else if (view_event_sampled(event))
		strbuf_addf(&line, "%" PRIu64 " sample%s", count, table_plural(count));
	else
		strbuf_addf(&line, "%s %s%s",
			    table_count(count, view_lost_nothing(t->view), number),
			    event->asked->timed ? "wait" : "time", table_plural(count));
	strbuf_adds(&line, "; --top 0 shows all");
	table_wrap(t, 4, &line);
}

static void event_section(struct table *t, const struct view_event *event)
{
	size_t n_shown = table_shown(t, event->n_stacks);

	event_head(t, event);
	for (size_t i = 0; i < n_shown; i++) {
		strbuf_addch(&t->out, '\n');
		stack_head(t, event, &event->stacks[i], i + 1);
		table_stack(t, &event->stacks[i].stack);
	}
	if (n_shown < event->n_stacks)
		hidden_stacks(t, event, n_shown);
	strbuf_addch(&t->out, '\n');
}

/* Below it there is no room for values beside shares. */
#define LEAST_WITH_VALUES 64

/* A value and its share of all. */
static void value_cells(struct table *t, const struct view_event *event, uint64_t value)
{
	uint64_t all = view_event_total(event);
	bool counted = view_lost_nothing(t->view) && !view_event_sampled(event);
	_cleanup_strbuf_ struct strbuf cell = { 0 };
	const char *mark = counted ? "" : "~";
	char text[FORMAT_UNIT_LEN];

	snprintf(text, sizeof(text), "%s%.1f%%", mark,
		 100.0 * (double)value / (double)(all + !all));
	strbuf_addf(&t->out, "%7s", text);
	if (view_opts(t->view)->width < LEAST_WITH_VALUES)
		return;
	strbuf_adds(&cell, mark);
	if (event->asked->timed)
		strbuf_adds(&cell, format_duration(value, text));
	else if (event->asked->page_bytes)
		strbuf_adds(&cell, format_size((int64_t)view_event_bytes(event, value), text));
	else
		strbuf_adds(&cell, format_count((int64_t)value, text));
	strbuf_addf(&t->out, " %11s", strbuf_str(&cell));
}

/* Frames by what they have in common: what runs there, and below it. */
static int flat_profile(struct table *t, const struct view_event *event)
{
	enum group_by by = view_opts(t->view)->group_by;
	struct event_groups groups;
	int r = event_groups_make(event, by, view_opts(t->view)->full_names, &groups);
	size_t n_shown = table_shown(t, groups.list.len);
	bool with_values = view_opts(t->view)->width >= LEAST_WITH_VALUES;
	size_t rest = table_rest(t, with_values ? 41 : 17);
	int values = with_values ? 12 : 0;

	event_head(t, event);
	strbuf_addf(&t->out, "%7s%*s %7s%*s  %s\n", "SELF", values, "", "TOTAL", values, "",
		    group_by_name(by));
	for (size_t i = 0; r == 0 && i < n_shown; i++) {
		const struct event_group *group = &groups.list.data[i];

		value_cells(t, event, group->self);
		strbuf_addch(&t->out, ' ');
		value_cells(t, event, group->total);
		strbuf_adds(&t->out, "  ");
		if (by == GROUP_BY_FUNCTION)
			text_fit_function(&t->out, group->name, rest);
		else
			text_fit(&t->out, group->name, rest);
		strbuf_addch(&t->out, '\n');
	}
	if (r == 0)
		table_more(t, 2, groups.list.len, n_shown, "");
	strbuf_addch(&t->out, '\n');
	event_groups_done(&groups);
	return r;
}

int table_events(struct table *t)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < view_n_events(t->view); i++) {
		const struct view_event *event = view_event(t->view, i);

		if (options_groups_stacks(view_opts(t->view)->group_by))
			r = flat_profile(t, event);
		else
			event_section(t, event);
	}
	return r;
}
