/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far estimates can be off, in words of the table. Nothing where there are none.
 */
#ifndef MEMTRACED_REPORT_TEXT_TABLE_ESTIMATE_H
#define MEMTRACED_REPORT_TEXT_TABLE_ESTIMATE_H

#include "report/text/table_out.h"
#include "report/view/view_estimate.h"

/* " ± 1.2 MiB", " ± 12": one of the estimate's. */
void table_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95);
void table_count_margin(struct strbuf *line, const struct view_estimate *estimate, uint64_t ci95);
/* "±1.2 MiB", "±12" in a column of that width, to stand below a number. */
void table_margin_cell(struct table *t, uint64_t ci95, bool is_count, size_t columns);
/* ", from 3 samples only", where they are few. */
void table_few_samples(struct strbuf *line, const struct view_estimate *estimate);
/* "≥" for lower bounds, "~" for estimates, "" for what is exact. */
const char *table_at_least(const struct table *t, bool exact);
/* What a process has allocated and freed, where that is an estimate. */
void table_estimated_calls(struct table *t, const struct record_totals *totals);

#endif
