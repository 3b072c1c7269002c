/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far estimates can be off, in words of the table. Nothing where there are none.
 */
#ifndef MEMTRACED_REPORT_TEXT_TABLE_ESTIMATE_H
#define MEMTRACED_REPORT_TEXT_TABLE_ESTIMATE_H

#include "report/text/table_out.h"
#include "report/view/view_estimate.h"

/* " ± 1.2 MiB", " ± 12" */
void table_bytes_margin(struct strbuf *line, const struct view_estimate *estimate);
void table_blocks_margin(struct strbuf *line, const struct view_estimate *estimate);
/* ", from 3 samples only", where they are few. */
void table_few_samples(struct strbuf *line, const struct view_estimate *estimate);
/* "≥" for lower bounds, "~" for estimates, "" for what is exact. */
const char *table_at_least(const struct table *t, bool exact);
/* What a process has allocated and freed, where that is an estimate. */
void table_estimated_calls(struct table *t, const struct record_totals *totals);

#endif
