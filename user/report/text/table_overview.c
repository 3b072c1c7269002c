/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes of the table in a line each, and their states. */
#include "base/saturate.h"
#include "report/text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
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

struct overview_row {
	struct record_totals totals;
	struct view_estimate margins;
};

#define COLUMN(head, columns, is_count, member, margin, mark)                                      \
	{                                                                                          \
		head, columns, is_count, offsetof(struct overview_row, totals.member),             \
			offsetof(struct overview_row, margins.margin), mark                        \
	}

static const struct table_column overview_columns[] = {
	COLUMN("LIVE", 12, false, live_bytes, ci95_bytes, TABLE_NEAR),
	COLUMN("BLOCKS", 9, true, live_blocks, ci95_blocks, TABLE_NEAR),
	COLUMN("PEAK", 12, false, peak_bytes, ci95_peak_bytes, TABLE_NEAR),
	COLUMN("ALLOCS", 9, true, allocs, ci95_allocs, TABLE_AT_LEAST),
};

/* How many leave room for the state; *ret_used is what they take, with what stands before them. */
static size_t shown_columns(const struct table *t, size_t *ret_used)
{
	size_t width = view_opts(t->view)->width, n = width < 60 ? 1 : width < 80 ? 2 : 4;

	*ret_used = 27;
	for (size_t i = 0; i < n; i++)
		*ret_used += overview_columns[i].columns;
	return n;
}

/* `is_part`: the process has a line already. */
static void overview_line(struct table *t, const struct view_process *process, bool is_part)
{
	size_t used, n = shown_columns(t, &used);
	const struct model_process *image = process->image;
	const struct overview_row row = { process->totals, view_estimate_totals(&process->totals) };
	bool is_counted = image->has_totals || image->depth != RECORD_DEPTH_GROWTH;
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
	table_number_cells(t, overview_columns, n, is_counted ? &row : NULL, process->exact);
	if (n > 1) {
		strbuf_adds(&t->out, "  ");
		text_fit(&t->out, strbuf_str(&state), table_rest(t, used));
	}
	strbuf_addch(&t->out, '\n');
	if (row.margins.interval) {
		strbuf_addf(&t->out, "%25s", "");
		table_margin_cells(t, overview_columns, n, &row);
	}
	if (strbuf_error(&name) < 0 || strbuf_error(&state) < 0)
		t->out.error = -ENOMEM;
}

size_t table_earlier_times(struct table *t, const struct view_process *process,
			   void (*show)(struct table *t, const struct view_process *part))
{
	size_t n = 0;

	while ((process = view_before_depth(t->view, process))) {
		n++;
		if (table_shown(t, n) == n)
			show(t, process);
	}
	return n - table_shown(t, n);
}

static void earlier_line(struct table *t, const struct view_process *part)
{
	overview_line(t, part, true);
}

/* A process, and the times before its depth changed. */
static void overview_lines(struct table *t, const struct view_process *process)
{
	size_t n_more;

	overview_line(t, process, false);
	n_more = table_earlier_times(t, process, earlier_line);
	if (n_more > 0)
		table_line(t, 12, "          … %zu earlier period%s of counting", n_more,
			   table_plural(n_more));
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
	size_t n_columns, used;

	if (n < OVERVIEW_MIN && !has_past(t))
		return;
	n_columns = shown_columns(t, &used);
	strbuf_addf(&t->out, "%8s  %-15s", "PID", "COMMAND");
	for (size_t i = 0; i < n_columns; i++)
		table_cell(&t->out, "", overview_columns[i].head, overview_columns[i].columns);
	strbuf_adds(&t->out, n_columns > 1 ? "  STATE\n" : "\n");
	for (size_t i = 0; i < n_shown; i++)
		overview_lines(t, processes[i]);
	table_hidden(t, processes, n, n_shown, "          ", "");
	strbuf_addch(&t->out, '\n');
}
