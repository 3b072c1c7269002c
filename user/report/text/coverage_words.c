/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/coverage_words.h"

#include "base/escape.h"
#include "base/strbuf.h"
#include "config/units.h"
#include "report/report_opts.h"
#include "report/text/next_words.h"
#include "report/view/view_coverage.h"
#include "report/view/view_estimate.h"

#include <inttypes.h>

void coverage_causes(struct strbuf *line, const struct record_loss *causes, size_t n)
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

	strbuf_adds(line, "NOT EXACT: the recording is unfinished, and values are those of");
	if (run && now_ns >= run->start_ns)
		strbuf_addf(line, " %s after its start",
			    format_duration(now_ns - run->start_ns, at));
	else
		strbuf_adds(line, " an earlier moment");
	if (lost > 0)
		strbuf_addf(line, "; %" PRIu64 " lost", lost);
}

static bool has_sampled_events(const struct view *view)
{
	for (size_t i = 0; i < view_n_events(view); i++)
		if (view_event_sampled(view_event(view, i)))
			return true;
	return false;
}

/* What they are where nothing was lost. `next`: next_words(). */
static void totals_words(const struct view *view, const char *next, struct strbuf *line)
{
	const struct model *model = view_model(view);

	if (next)
		strbuf_adds(line, "none lost");
	else if (view_has_only_samples(view))
		strbuf_adds(line, "none lost: totals are ESTIMATES");
	else if (view_is_exact(view))
		strbuf_adds(line, has_sampled_events(view) ?
					  "none lost: totals are exact, those of sampled events "
					  "ESTIMATES" :
					  "none lost: totals are exact");
	else if (model_depths(model)->changes.len > 0)
		strbuf_adds(line, "none lost: totals are exact or ESTIMATES, as stated for each "
				  "time of each process");
	else if (view_is_sampled(model))
		strbuf_adds(line, "none lost: totals are ESTIMATES, not exact");
	else
		strbuf_adds(line, "NOT EXACT: an unknown number of events was lost");
}

/* By a cause that totals do not bear; by those of no number it is view_lost_nothing. */
static bool totals_suffer(const struct record_coverage *coverage)
{
	for (size_t i = 0; i < coverage->n_losses; i++)
		if (!record_loss_spares_totals(coverage->losses[i].cause))
			return true;
	return false;
}

void coverage_words(const struct view *view, struct strbuf *line)
{
	const struct record_coverage *coverage = view_coverage(view);
	const char *next = next_words(view_model(view));
	uint64_t lost = 0;

	if (!coverage) {
		strbuf_adds(line, "NOT EXACT: no state of the counts was read");
		return;
	}
	if (record_counted_nothing(coverage)) {
		strbuf_adds(line, "NOTHING WAS COUNTED: with --floor the probes run empty "
				  "programs, to show what probes alone cost");
		return;
	}
	for (size_t i = 0; i < coverage->n_losses; i++)
		lost += coverage->losses[i].count;
	strbuf_addf(line, "%" PRIu64 " %s seen, ", coverage->events,
		    view_has_only_samples(view)	      ? "samples" :
		    view_is_sampled(view_model(view)) ? "samples and their frees" :
							"events");
	if (view_is_cut_off(view_model(view))) {
		cut_off_words(view, lost - 1, line);
	} else if (totals_suffer(coverage)) {
		strbuf_addf(line, "NOT EXACT: %" PRIu64 " lost", lost);
	} else {
		totals_words(view, next, line);
		if (lost > 0)
			strbuf_addf(line, "; %" PRIu64 " stack%s or name%s lost", lost,
				    lost == 1 ? "" : "s", lost == 1 ? "" : "s");
	}
	coverage_causes(line, coverage->losses, coverage->n_losses);
	if (next)
		strbuf_addf(line, "; %s", next);
	if (!view_lost_nothing(view))
		strbuf_adds(line, "; ≥ marks lower bounds, ~ what can be off either way");
}

enum coverage_state coverage_state(const struct view *view)
{
	const struct record_coverage *coverage = view_coverage(view);

	if (view_is_exact(view))
		return COVERAGE_EXACT;
	if (!coverage)
		return COVERAGE_UNKNOWN;
	if (totals_suffer(coverage))
		return COVERAGE_LOST;
	return view_has_only_samples(view) || view_has_estimates(view_model(view)) ?
		       COVERAGE_ESTIMATES :
		       COVERAGE_UNKNOWN;
}

enum coverage_state coverage_state_of(const struct view *view, const struct view_process *process)
{
	enum coverage_state state = coverage_state(view);

	if (process->exact)
		return COVERAGE_EXACT;
	if (process->totals.lost > 0)
		return COVERAGE_LOST;
	if (state == COVERAGE_ESTIMATES && !view_has_only_samples(view) &&
	    !view_image_is_sampled(view_model(view), process->image))
		return COVERAGE_UNKNOWN;
	return state == COVERAGE_EXACT ? COVERAGE_UNKNOWN : state;
}

const char *coverage_state_name(enum coverage_state state)
{
	static const char *const names[] = {
		[COVERAGE_EXACT] = "exact",
		[COVERAGE_ESTIMATES] = "estimates",
		[COVERAGE_LOST] = "not exact, events were lost",
		[COVERAGE_UNKNOWN] = "not exact",
	};

	return names[state];
}

static void add_share(struct strbuf *line, uint64_t ppm)
{
	strbuf_addf(line, "%" PRIu64 ".%02" PRIu64 " %%", ppm / 10000, ppm / 100 % 100);
}

void coverage_budget_words(const struct report_budget *budget, struct strbuf *out)
{
	char time[FORMAT_UNIT_LEN];

	if (budget->pre_empted) {
		strbuf_addf(out,
			    "ended early to make room for another trace ([trace] max_traces): NOT "
			    "TRACED for the last %s",
			    format_duration(budget->untraced_ns, time));
		return;
	}
	strbuf_adds(out, "budget: probes used ");
	add_share(out, budget->used_ppm);
	strbuf_adds(out, " of a CPU's time (estimated), ");
	add_share(out, budget->predicted_ppm);
	strbuf_adds(out, " if it had gone on; allowed: ");
	if (budget->max_ppm)
		add_share(out, budget->max_ppm);
	else
		strbuf_adds(out, "all");
	if (budget->untraced_ns)
		strbuf_addf(out, "; so it was NOT TRACED for the last %s",
			    format_duration(budget->untraced_ns, time));
}
