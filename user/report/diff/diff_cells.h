/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tables of a diff have their cells from. */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_CELLS_H
#define MEMTRACED_REPORT_DIFF_DIFF_CELLS_H

#include "report/diff/diff_keys.h"
#include "report/text/table_out.h"

#define DIFF_CELL 12

/* A number at the right of its column. */
void diff_cell(struct table *t, const char *number);

/* A line of what before, after and their change can be off, below them. */
void diff_margin_cells(struct table *t, const uint64_t ci95[DIFF_SIDES], uint64_t of_change,
		       bool is_count);
/* "  +53.3 %", if there is a change that has a share; `mark` says that it is an estimate. */
void diff_percent(struct table *t, const char *mark, int64_t before, int64_t change);

#endif
