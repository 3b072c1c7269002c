/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of a diff's table write with (diff_cells.c), and the part about events and
 * histograms (diff_table_jobs.c).
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_TABLE_H
#define MEMTRACED_REPORT_DIFF_DIFF_TABLE_H

#include "report/diff/diff.h"
#include "report/text/table_out.h"

#define DIFF_CELL 12

enum diff_unit { DIFF_COUNT, DIFF_BYTES, DIFF_NS };

/* "-1.2 s", "~+15"; `mark` says that it is an estimate or a bound, `sign` that it is a change. */
void diff_number(struct strbuf *out, const char *mark, int64_t value, enum diff_unit unit,
		 bool sign);
/* The same at the right of its column. */
void diff_cell(struct table *t, const char *mark, int64_t value, enum diff_unit unit, bool sign);

/* The line above cells; labels of that many columns stand before them. */
void diff_column_heads(struct table *t, size_t label);

/* A line of what before, after and their change can be off, below them. */
void diff_margin_cells(struct table *t, const uint64_t ci95[DIFF_SIDES], uint64_t of_change,
		       bool is_count);
/* "  +53.3 %", if there is a change that has a share; `mark` says that it is an estimate. */
void diff_percent(struct table *t, const char *mark, int64_t before, int64_t change);

void diff_table_jobs(struct table *t, const struct diff *diff);

#endif
