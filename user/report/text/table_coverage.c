/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"
#include "report/text/coverage_words.h"
#include "report/text/program_words.h"
#include "report/text/table.h"
#include "report/view/view_coverage.h"
#include "report/view/view_estimate.h"

#include <errno.h>
#include <inttypes.h>

static void unprobed(struct table *t)
{
	const struct model *model = view_model(t->view);

	for (size_t i = 0; i < model_coverage(model)->unprobed.len; i++) {
		const struct record_unprobed *u = &model_coverage(model)->unprobed.data[i];
		_cleanup_strbuf_ struct strbuf line = { 0 };

		strbuf_adds(&line, "not probed: ");
		escape_text(&line, u->function ? u->function : "?");
		strbuf_adds(&line, " in ");
		escape_text(&line, u->object ? u->object : "?");
		if (u->why) {
			strbuf_adds(&line, ": ");
			escape_text(&line, u->why);
		}
		table_wrap(t, 12, &line);
	}
}

/* Nothing is lost by it, but it costs a second trap, and should be known to who develops this. */
static void sites_differ(struct table *t)
{
	vec_foreach(&model_coverage(view_model(t->view))->sites_differ, differ) {
		_cleanup_strbuf_ struct strbuf line = { 0 };

		strbuf_adds(&line, "counted at entry and return: ");
		escape_text(&line, differ->function);
		strbuf_adds(&line, " in ");
		escape_text(&line, differ->object);
		strbuf_addf(&line,
			    ": probes inside it saw %" PRIu64 " of %" PRIu64
			    " compared calls otherwise and are not used; totals are not affected",
			    differ->different, differ->calls);
		table_wrap(t, 12, &line);
	}
}

/* Histograms have none. */
static bool has_stacks(const struct view *view, const struct record_coverage *coverage)
{
	return view_has_allocations(view) || coverage->stacks_complete > 0 ||
	       coverage->stacks_truncated > 0;
}

static void stacks(struct table *t, const struct record_coverage *coverage)
{
	const struct record_run *run = model_run(view_model(t->view));
	uint64_t resolution_ns = view_age_resolution_ns(t->view);
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char duration[FORMAT_UNIT_LEN];

	strbuf_adds(&line, "stacks");
	if (run && run->unwinder) {
		strbuf_adds(&line, " by ");
		escape_text(&line, run->unwinder);
	}
	strbuf_addf(&line, ": %s%" PRIu64 " complete",
		    coverage->stacks_truncated ? "NOT ALL COMPLETE: " : "",
		    coverage->stacks_complete);
	if (coverage->stacks_guided)
		strbuf_addf(&line, " (%" PRIu64 " in part by frame pointers)",
			    coverage->stacks_guided);
	strbuf_addf(&line, ", %" PRIu64 " truncated", coverage->stacks_truncated);
	coverage_causes(&line, coverage->cuts, coverage->n_cuts);
	if (resolution_ns > 0 && view_has_allocations(t->view))
		strbuf_addf(&line, "; age resolution %s", format_duration(resolution_ns, duration));
	if (coverage->stacks_truncated)
		table_warn(t, true);
	table_wrap(t, 8, &line);
	if (coverage->stacks_truncated)
		table_warn(t, false);
}

/* --check-stacks */
static void stack_check(struct table *t)
{
	const struct record_stack_check *check = model_coverage(view_model(t->view))->of_stacks;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!check)
		return;
	strbuf_adds(&line, "stacks checked against libdwfl:");
	for (size_t i = 0; i < check->n_results; i++) {
		strbuf_adds(&line, i ? ", " : " ");
		escape_text(&line, check->results[i].cause);
		strbuf_addf(&line, " %" PRIu64, check->results[i].count);
	}
	if (check->n_results == 0)
		strbuf_adds(&line, " none");
	table_wrap(t, 8, &line);
}

static void kernel(struct table *t)
{
	const struct record_run *run = model_run(view_model(t->view));
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!run || !run->kernel_lacks || !*run->kernel_lacks)
		return;
	strbuf_adds(&line, "kernel: ");
	escape_text(&line, run->kernel_lacks);
	table_wrap(t, 8, &line);
}

/* Of a service. */
static void budget(struct table *t)
{
	const struct report_budget *budget = view_opts(t->view)->budget;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!budget)
		return;
	coverage_budget_words(budget, &line);
	table_wrap(t, 8, &line);
}

void table_coverage(struct table *t)
{
	const struct record_coverage *coverage = view_coverage(t->view);
	_cleanup_strbuf_ struct strbuf line = { 0 };

	strbuf_adds(&line, "coverage: ");
	if (!coverage) {
		coverage_words(t->view, &line);
		table_wrap(t, 10, &line);
		unprobed(t);
		sites_differ(t);
		return;
	}
	coverage_words(t->view, &line);
	if (!view_lost_nothing(t->view))
		table_warn(t, true);
	table_wrap(t, 10, &line);
	if (!view_lost_nothing(t->view))
		table_warn(t, false);
	if (!record_counted_nothing(coverage) && has_stacks(t->view, coverage))
		stacks(t, coverage);
	stack_check(t);
	budget(t);
	table_depths(t);
	kernel(t);
	unprobed(t);
	sites_differ(t);
}

/* --- one line for each kind of program, however many processes run it ------------------------- */

/* Processes that are named. */
#define MOST_NAMED 3

/*
 * "python3 (pid 4242), python3 (pid 4243), 5 more"; nothing where none is of that kind. The only
 * one, or NULL.
 */
static const struct model_process *add_processes(const struct view *before, const struct view *view,
						 enum program_kind kind, struct strbuf *line)
{
	size_t n_before = before ? view_n_processes(before) : 0, n = 0;
	const struct model_process *first = NULL;

	for (size_t i = 0; i < n_before + view_n_processes(view); i++) {
		const struct view_process *process =
			i < n_before ? view_process(before, i) : view_process(view, i - n_before);

		if (!program_is(process->image, kind) || n++ >= MOST_NAMED)
			continue;
		first = n == 1 ? process->image : NULL;
		strbuf_adds(line, n > 1 ? ", " : "");
		table_process(line, process->image);
	}
	if (n > MOST_NAMED)
		strbuf_addf(line, ", %zu more", n - MOST_NAMED);
	return first;
}

void table_programs(struct table *t, const struct view *before)
{
	for (enum program_kind kind = PROGRAM_PLAIN + 1; kind < PROGRAM_KINDS; kind++) {
		_cleanup_strbuf_ struct strbuf line = { 0 }, words = { 0 };

		const struct model_process *only = add_processes(before, t->view, kind, &line);

		if (line.len == 0)
			continue;
		program_words_of_run(kind, only, t->view, &words);
		if (words.len == 0)
			continue;
		strbuf_addf(&line, ": %s", strbuf_str(&words));
		table_wrap(t, 8, &line);
		if (strbuf_error(&line) < 0 || strbuf_error(&words) < 0)
			t->out.error = -ENOMEM;
	}
}
