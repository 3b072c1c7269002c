/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"
#include "report/text/table.h"
#include "report/view/view_budget.h"
#include "report/view/view_estimate.h"
#include "report/view/view_exact.h"

#include <inttypes.h>
#include <string.h>

static bool nothing_counted(const struct record_coverage *coverage)
{
	for (size_t i = 0; i < coverage->n_losses; i++)
		if (strcmp(coverage->losses[i].cause, RECORD_CAUSE_FLOOR) == 0)
			return true;
	return false;
}

static void add_causes(struct strbuf *line, const struct record_loss *causes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		strbuf_adds(line, i == 0 ? " (" : ", ");
		escape_text(line, causes[i].cause);
		strbuf_addf(line, " %" PRIu64, causes[i].count);
	}
	if (n > 0)
		strbuf_addch(line, ')');
}

/* `lost`: by other causes. */
static void cut_off_words(const struct view *view, uint64_t lost, struct strbuf *line)
{
	const struct record_run *run = model_run(view_model(view));
	uint64_t now_ns = view_now_ns(view);
	char at[FORMAT_UNIT_LEN];

	strbuf_adds(line, "NOT EXACT: the recording has no end, and all is as it was");
	if (run && now_ns >= run->start_ns)
		strbuf_addf(line, " %s after its start",
			    format_duration(now_ns - run->start_ns, at));
	else
		strbuf_adds(line, " before");
	if (lost > 0)
		strbuf_addf(line, "; %" PRIu64 " lost", lost);
}

static void coverage_words(const struct view *view, const struct record_coverage *coverage,
			   struct strbuf *line)
{
	const struct model *model = view_model(view);
	bool only_samples = view_has_only_samples(view);
	bool is_sampled = view_is_sampled(model), changes = model_n_depth_changes(model) > 0;
	uint64_t lost = 0;

	if (nothing_counted(coverage)) {
		strbuf_adds(line,
			    "coverage: NOTHING WAS COUNTED: with --floor the probes run empty "
			    "programs, to show what probes alone cost");
		return;
	}
	for (size_t i = 0; i < coverage->n_losses; i++)
		lost += coverage->losses[i].count;
	strbuf_addf(line, "coverage: %" PRIu64 " %s seen, ", coverage->events,
		    only_samples ? "samples" :
		    is_sampled	 ? "samples and their frees" :
				   "events");
	if (view_is_cut_off(view_model(view))) {
		cut_off_words(view, lost - 1, line);
	} else if (view_is_exact(view)) {
		/* What leaves totals exact is lost of stacks and names. */
		strbuf_adds(line, only_samples ? "none lost: totals are ESTIMATES" :
						 "none lost: totals are exact");
		if (lost > 0)
			strbuf_addf(line, "; of stacks or names LOST: %" PRIu64, lost);
	} else if (lost == 0 && changes) {
		strbuf_adds(line, "none lost: totals are exact, or ESTIMATES, as each "
				  "process says, of the time that it says");
	} else if (lost == 0 && is_sampled) {
		strbuf_adds(line, "none lost: totals are ESTIMATES, not exact");
	} else if (lost == 0) {
		strbuf_adds(line, "NOT EXACT: there were gaps that nobody could count");
	} else {
		strbuf_addf(line, "NOT EXACT: %" PRIu64 " lost", lost);
	}
	add_causes(line, coverage->losses, coverage->n_losses);
	if (!view_is_exact(view))
		strbuf_adds(line, "; ≥ marks lower bounds, ~ what can be off either way");
}

static void unprobed(struct table *t)
{
	const struct model *model = view_model(t->view);

	for (size_t i = 0; i < model_n_unprobed(model); i++) {
		const struct record_unprobed *u = model_unprobed(model, i);
		_cleanup_strbuf_ struct strbuf line = { 0 };

		strbuf_adds(&line, "not probed: ");
		escape_text(&line, u->function ? u->function : "?");
		strbuf_adds(&line, " in ");
		escape_text(&line, u->object ? u->object : "?");
		if (u->why) {
			strbuf_adds(&line, ": ");
			escape_text(&line, u->why);
		}
		table_wrap(t, 12, strbuf_str(&line));
		if (strbuf_error(&line) < 0)
			t->out.error = strbuf_error(&line);
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
	add_causes(&line, coverage->cuts, coverage->n_cuts);
	if (run && run->age_resolution_ns > 0 && view_has_allocations(t->view))
		strbuf_addf(&line, "; ages are true to %s",
			    format_duration(run->age_resolution_ns, duration));
	if (coverage->stacks_truncated)
		table_warn(t, true);
	table_wrap(t, 8, strbuf_str(&line));
	if (coverage->stacks_truncated)
		table_warn(t, false);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

/* --check-stacks */
static void stack_check(struct table *t)
{
	const struct record_stack_check *check = model_stack_check(view_model(t->view));
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
	table_wrap(t, 8, strbuf_str(&line));
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

static void kernel(struct table *t)
{
	const struct record_run *run = model_run(view_model(t->view));
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!run || !run->kernel_lacks || !*run->kernel_lacks)
		return;
	strbuf_adds(&line, "kernel: ");
	escape_text(&line, run->kernel_lacks);
	table_wrap(t, 8, strbuf_str(&line));
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

/* Of a service. */
static void budget(struct table *t)
{
	const struct report_budget *budget = view_opts(t->view)->budget;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!budget)
		return;
	view_budget_words(budget, &line);
	table_wrap(t, 8, strbuf_str(&line));
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}

void table_coverage(struct table *t)
{
	const struct record_coverage *coverage = view_coverage(t->view);
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (!coverage) {
		strbuf_adds(&t->out, "coverage: NOT EXACT: no state of the counts was read\n");
		unprobed(t);
		return;
	}
	coverage_words(t->view, coverage, &line);
	if (!view_is_exact(t->view))
		table_warn(t, true);
	table_wrap(t, 10, strbuf_str(&line));
	if (!view_is_exact(t->view))
		table_warn(t, false);
	if (!nothing_counted(coverage) && has_stacks(t->view, coverage))
		stacks(t, coverage);
	stack_check(t);
	budget(t);
	table_depths(t);
	kernel(t);
	unprobed(t);
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}
