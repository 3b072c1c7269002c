/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes of the table in a line each, and their states. */
#include "base/saturate.h"
#include "config/units.h"
#include "report/text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* From this many processes on, an overview comes first. */
#define OVERVIEW_MIN 4

void table_state(const struct model_process *image, struct strbuf *out)
{
	const char *name;

	if (!image->ended) {
		strbuf_adds(out, image->known ? "running" : "unknown");
		return;
	}
	switch (image->how) {
	case RECORD_END_EXIT:
		strbuf_addf(out, "exited with %d", image->end_value);
		break;
	case RECORD_END_SIGNAL:
		name = sigabbrev_np(image->end_value);
		if (name)
			strbuf_addf(out, "killed by SIG%s", name);
		else
			strbuf_addf(out, "killed by signal %d", image->end_value);
		break;
	case RECORD_END_EXEC:
		strbuf_adds(out, "replaced by exec");
		break;
	case RECORD_END_UNKNOWN:
		strbuf_adds(out, "ended");
		break;
	case RECORD_END_DEPTH:
		strbuf_adds(out, "goes on at another depth");
		break;
	case RECORD_END_HIDDEN:
		strbuf_adds(out, "goes on, no longer accessible to the requesting user");
		break;
	}
	if (image->oom)
		strbuf_adds(out, " (out of memory)");
}

/* The same in a column of the overview. */
static void state_word(const struct model_process *image, struct strbuf *out)
{
	if (!image->ended || image->how == RECORD_END_UNKNOWN)
		table_state(image, out);
	else if (image->how == RECORD_END_EXIT)
		strbuf_addf(out, "exit %d", image->end_value);
	else if (image->how == RECORD_END_SIGNAL)
		strbuf_addf(out, "signal %d", image->end_value);
	else if (image->how == RECORD_END_HIDDEN)
		strbuf_adds(out, "hidden");
	else
		strbuf_adds(out, image->how == RECORD_END_DEPTH ? "depth" : "exec");
}

const struct view_process *table_counted(const struct table *t, const struct view_process *process)
{
	const struct view_process *at = process;

	while (at && !at->image->has_totals)
		at = view_before_depth(t->view, at);
	return at ? at : process;
}

int64_t table_heap_bytes(const struct table *t, const struct view_process *process)
{
	const struct view_process *counted = table_counted(t, process);

	return counted->image->has_totals ? counted->totals.live_bytes : 0;
}

/* Numbers that leave room for the state. */
static size_t overview_columns(const struct table *t)
{
	size_t width = view_opts(t->view)->width;

	return width < 60 ? 1 : width < 80 ? 2 : 4;
}

/* "-" where nothing was counted, for what it would take. */
static void overview_numbers(struct table *t, const struct view_process *process, size_t n,
			     const size_t *columns)
{
	const struct record_totals *totals = &process->totals;
	const char *near = process->exact ? "" : "~", *at_least = table_at_least(t, process->exact);
	const int64_t values[] = { totals->live_bytes, totals->live_blocks, totals->peak_bytes,
				   (int64_t)totals->allocs };
	bool is_counted =
		process->image->has_totals || process->image->depth != RECORD_DEPTH_GROWTH;
	char number[FORMAT_UNIT_LEN];

	for (size_t i = 0; i < n; i++) {
		if (i % 2)
			format_count(values[i], number);
		else
			format_size(values[i], number);
		table_cell(&t->out,
			   !is_counted ? "" :
			   i < 3       ? near :
					 at_least,
			   is_counted ? number : "-", columns[i]);
	}
}

/* `is_part`: the process has a line already. */
static void overview_line(struct table *t, const struct view_process *process, bool is_part)
{
	static const size_t columns[] = { 12, 9, 12, 9 };
	size_t n = overview_columns(t), used = 27;
	const struct model_process *image = process->image;
	const struct view_estimate estimate = view_estimate_totals(&process->totals);
	const uint64_t margins[] = { estimate.ci95_bytes, estimate.ci95_blocks,
				     estimate.ci95_peak_bytes, estimate.ci95_allocs };
	_cleanup_strbuf_ struct strbuf name = { 0 }, state = { 0 };
	char pid[TABLE_PID_LEN];

	table_pid(image, pid);
	if (is_part) {
		table_stretch_begin(t, image, &name);
		table_stretch_end(t, image, &state);
	} else {
		text_fit(&name, image->comm, 15);
		state_word(image, &state);
	}
	strbuf_addf(&t->out, "%8s  %s%*s", is_part ? "" : pid, strbuf_str(&name),
		    15 - (int)text_columns(strbuf_str(&name)), "");
	overview_numbers(t, process, n, columns);
	for (size_t i = 0; i < n; i++)
		used += columns[i];
	if (n > 1) {
		strbuf_adds(&t->out, "  ");
		text_fit(&t->out, strbuf_str(&state), table_rest(t, used));
	}
	strbuf_addch(&t->out, '\n');
	if (estimate.interval) {
		strbuf_addf(&t->out, "%25s", "");
		for (size_t i = 0; i < n; i++)
			table_margin_cell(t, margins[i], i % 2, columns[i]);
		strbuf_addch(&t->out, '\n');
	}
	if (strbuf_error(&name) < 0 || strbuf_error(&state) < 0)
		t->out.error = -ENOMEM;
}

/* A process, and the times before its depth changed. */
static void overview_lines(struct table *t, const struct view_process *process)
{
	const struct view_process *part = process;
	size_t n = 0, n_shown;

	overview_line(t, process, false);
	while ((part = view_before_depth(t->view, part)))
		n++;
	n_shown = table_shown(t, n);
	part = process;
	for (size_t i = 0; i < n_shown; i++) {
		part = view_before_depth(t->view, part);
		overview_line(t, part, true);
	}
	if (n > n_shown)
		table_line(t, 12, "          … %zu earlier time%s in which it was counted",
			   n - n_shown, table_plural(n - n_shown));
}

void table_hidden(struct table *t, struct view_process *const *processes, size_t n, size_t n_shown,
		  const char *indent, const char *hint)
{
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char size[TABLE_NUMBER_LEN];
	int64_t hidden_bytes = 0;
	bool exact = true;

	if (n <= n_shown)
		return;
	for (size_t i = n_shown; i < n; i++) {
		hidden_bytes = saturate_add(hidden_bytes, table_heap_bytes(t, processes[i]));
		exact &= processes[i]->exact;
	}
	strbuf_addf(&line, "%s… %zu more process%s, %s of heap live%s", indent, n - n_shown,
		    n - n_shown == 1 ? "" : "es", table_size(hidden_bytes, exact, size), hint);
	table_wrap(t, strlen(indent) + 2, &line);
}

/* Is there a process that was counted several times? */
static bool has_past(const struct table *t)
{
	for (size_t i = 0; i < view_n_processes(t->view); i++)
		if (view_process(t->view, i)->is_past)
			return true;
	return false;
}

void table_overview(struct table *t, struct view_process *const *processes, size_t n,
		    size_t n_shown)
{
	if (n < OVERVIEW_MIN && !has_past(t))
		return;
	strbuf_addf(&t->out, "%8s  %-15s %11s", "PID", "COMMAND", "LIVE");
	if (overview_columns(t) > 1)
		strbuf_addf(&t->out, " %8s", "BLOCKS");
	if (overview_columns(t) > 2)
		strbuf_addf(&t->out, " %11s %8s", "PEAK", "ALLOCS");
	strbuf_adds(&t->out, overview_columns(t) > 1 ? "  STATE\n" : "\n");
	for (size_t i = 0; i < n_shown; i++)
		overview_lines(t, processes[i]);
	table_hidden(t, processes, n, n_shown, "          ", "");
	strbuf_addch(&t->out, '\n');
}
