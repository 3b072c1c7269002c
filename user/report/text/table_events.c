/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"
#include "report/text/table.h"

#include <inttypes.h>

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
	table_bold(t, true);
	table_wrap(t, 4, strbuf_str(&line));
	table_bold(t, false);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
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
	table_bold(t, true);
	table_wrap(t, 8, strbuf_str(&line));
	table_bold(t, false);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

static void event_section(struct table *t, const struct view_event *event)
{
	size_t n_shown = table_shown(t, event->n_stacks);
	char number[TABLE_NUMBER_LEN];
	uint64_t hidden = 0;

	event_head(t, event);
	for (size_t i = 0; i < n_shown; i++) {
		strbuf_addch(&t->out, '\n');
		stack_head(t, event, &event->stacks[i], i + 1);
		table_stack(t, &event->stacks[i].stack);
	}
	for (size_t i = n_shown; i < event->n_stacks; i++)
		hidden += event->stacks[i].count;
	if (n_shown < event->n_stacks)
		strbuf_addf(&t->out, "  … %zu more stack%s, %s time%s; --top 0 shows all\n",
			    event->n_stacks - n_shown, table_plural(event->n_stacks - n_shown),
			    table_count(hidden, view_lost_nothing(t->view), number),
			    table_plural(hidden));
	strbuf_addch(&t->out, '\n');
}

void table_events(struct table *t)
{
	for (size_t i = 0; i < view_n_events(t->view); i++)
		event_section(t, view_event(t->view, i));
}
