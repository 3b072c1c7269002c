/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reports say of their totals: that they are exact, estimates of samples, or that something
 * was lost. All formats have their words from here. Pure functions.
 */
#ifndef MEMTRACED_REPORT_TEXT_COVERAGE_WORDS_H
#define MEMTRACED_REPORT_TEXT_COVERAGE_WORDS_H

#include "base/strbuf.h"
#include "report/view/view.h"

/* " (CAUSE N, ...)"; nothing where there are none. */
void coverage_causes(struct strbuf *out, const struct record_loss *causes, size_t n);
/* A line of its own: how much was seen, what was lost and by what causes. */
void coverage_words(const struct view *view, struct strbuf *out);

/* The more doubtful, the later. */
enum coverage_state {
	COVERAGE_EXACT,
	COVERAGE_ESTIMATES, /* of samples; none was lost */
	COVERAGE_LOST,
	COVERAGE_UNKNOWN, /* there may be gaps that could not be counted */
};

enum coverage_state coverage_state(const struct view *view);
/* The same of one process, whose totals may be exact where those of others are not. */
enum coverage_state coverage_state_of(const struct view *view, const struct view_process *process);
/* "exact", "estimates", "not exact, events were lost", "not exact" */
const char *coverage_state_name(enum coverage_state state);

/* What a service's trace was allowed to cost and has cost: one line, without its end. */
void coverage_budget_words(const struct report_budget *budget, struct strbuf *out);

#endif
