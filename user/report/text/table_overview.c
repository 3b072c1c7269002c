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

int64_t table_heap_bytes(const struct view_process *process)
{
	return process->image->has_totals ? process->totals.live_bytes : 0;
}

static void overview_line(struct table *t, const struct view_process *process)
{
	const struct model_process *image = process->image;
	const struct record_totals *totals = &process->totals;
	const char *near = process->exact ? "" : "~", *at_least = table_at_least(t, process->exact);
	const struct view_estimate estimate = view_estimate_totals(totals);
	_cleanup_strbuf_ struct strbuf comm = { 0 }, state = { 0 };
	char pid[TABLE_PID_LEN], number[FORMAT_UNIT_LEN];

	table_pid(image, pid);
	text_fit(&comm, image->comm, 15);
	state_word(image, &state);
	strbuf_addf(&t->out, "%8s  %s%*s", pid, strbuf_str(&comm),
		    15 - (int)text_columns(strbuf_str(&comm)), "");
	table_cell(&t->out, near, format_size(totals->live_bytes, number), 12);
	table_cell(&t->out, near, format_count(totals->live_blocks, number), 9);
	table_cell(&t->out, near, format_size(totals->peak_bytes, number), 12);
	table_cell(&t->out, at_least, format_count((int64_t)totals->allocs, number), 9);
	strbuf_adds(&t->out, "  ");
	text_fit(&t->out, strbuf_str(&state), view_opts(t->view)->width - 69);
	strbuf_addch(&t->out, '\n');
	if (estimate.interval) {
		strbuf_addf(&t->out, "%25s", "");
		table_margin_cell(t, estimate.ci95_bytes, false, 12);
		table_margin_cell(t, estimate.ci95_blocks, true, 9);
		table_margin_cell(t, estimate.ci95_peak_bytes, false, 12);
		table_margin_cell(t, estimate.ci95_allocs, true, 9);
		strbuf_addch(&t->out, '\n');
	}
	if (strbuf_error(&comm) < 0 || strbuf_error(&state) < 0)
		t->out.error = -ENOMEM;
}

void table_hidden(struct table *t, struct view_process *const *processes, size_t n, size_t n_shown,
		  const char *indent, const char *hint)
{
	char size[TABLE_NUMBER_LEN];
	int64_t hidden_bytes = 0;
	bool exact = true;

	if (n <= n_shown)
		return;
	for (size_t i = n_shown; i < n; i++) {
		hidden_bytes = saturate_add(hidden_bytes, table_heap_bytes(processes[i]));
		exact &= processes[i]->exact;
	}
	strbuf_addf(&t->out, "%s… %zu more process%s, %s of heap live%s\n", indent, n - n_shown,
		    n - n_shown == 1 ? "" : "es", table_size(hidden_bytes, exact, size), hint);
}

void table_overview(struct table *t, struct view_process *const *processes, size_t n,
		    size_t n_shown)
{
	if (n < OVERVIEW_MIN)
		return;
	strbuf_addf(&t->out, "%8s  %-15s %11s %8s %11s %8s  %s\n", "PID", "COMMAND", "LIVE",
		    "BLOCKS", "PEAK", "ALLOCS", "STATE");
	for (size_t i = 0; i < n_shown; i++)
		overview_line(t, processes[i]);
	table_hidden(t, processes, n, n_shown, "          ", "");
	strbuf_addch(&t->out, '\n');
}
