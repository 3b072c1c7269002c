/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/table_estimate.h"

#include "config/units.h"

#include <inttypes.h>

void table_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95)
{
	char size[FORMAT_UNIT_LEN];

	if (estimate->interval)
		strbuf_addf(line, " ± %s", format_size((int64_t)ci95, size));
}

void table_count_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95)
{
	if (estimate->interval)
		strbuf_addf(line, " ± %" PRIu64, ci95);
}

void table_margin_cell(struct table *t, uint64_t ci95, bool is_count, size_t columns)
{
	char number[FORMAT_UNIT_LEN];
	size_t have;

	if (is_count)
		format_count((int64_t)ci95, number);
	else
		format_size((int64_t)ci95, number);
	have = text_columns(number) + 1;
	strbuf_addf(&t->out, "%*s±%s", have < columns ? (int)(columns - have) : 0, "", number);
}

void table_few_samples(struct strbuf *line, const struct view_estimate *estimate)
{
	if (view_has_few_samples(estimate))
		strbuf_addf(line, ", from %" PRIu64 " sample%s only", estimate->samples,
			    table_plural(estimate->samples));
}

const char *table_at_least(const struct table *t, bool exact)
{
	if (exact)
		return "";
	return view_has_estimates(view_model(t->view)) ? "~" : "≥";
}

void table_estimated_calls(struct table *t, const struct record_totals *totals)
{
	const struct view_estimate estimate = view_estimate_totals(totals);
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char size[FORMAT_UNIT_LEN];

	strbuf_adds(&line, "        ");
	if (!estimate.interval) {
		strbuf_adds(&line, "no samples");
	} else {
		strbuf_addf(&line, "~%" PRIu64, totals->allocs);
		table_count_margin(&line, &estimate, estimate.ci95_allocs);
		strbuf_addf(&line, " allocations of ~%s",
			    format_size((int64_t)totals->bytes, size));
		table_margin(&line, &estimate, estimate.ci95_allocated_bytes);
		strbuf_addf(&line, ", ~%" PRIu64, totals->frees);
		table_count_margin(&line, &estimate, estimate.ci95_frees);
		strbuf_adds(&line, " frees");
		strbuf_addf(&line, "; ESTIMATES: one sample in %s",
			    format_size((int64_t)estimate.interval, size));
		if (estimate.shown_interval < estimate.interval)
			strbuf_addf(&line, " (too many lived at a time for one in %s)",
				    format_size((int64_t)estimate.shown_interval, size));
		strbuf_addf(&line, ", %" PRIu64 " live, ± is 95 %%", estimate.samples);
	}
	if (totals->missed_frees > 0)
		strbuf_addf(&line, "; %" PRIu64 " missed free%s", totals->missed_frees,
			    table_plural(totals->missed_frees));
	if (totals->unknown_frees > 0)
		strbuf_addf(&line, "; %" PRIu64 " free%s of unknown samples", totals->unknown_frees,
			    table_plural(totals->unknown_frees));
	table_wrap(t, 8, strbuf_str(&line));
	if (strbuf_error(&line) < 0)
		t->out.error = strbuf_error(&line);
}
