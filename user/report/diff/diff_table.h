/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the table of diffs: diff_table.c has what is of allocations, diff_table_jobs.c
 * events and histograms.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_TABLE_H
#define MEMTRACED_REPORT_DIFF_DIFF_TABLE_H

#include "report/diff/diff.h"
#include "report/text/table_out.h"

#define DIFF_CELL 12

/* A number at the right of its column. */
void diff_table_cell(struct table *t, const char *number);

/* "  +53.3 %", if there is a change that has a share; `mark` says that it is an estimate. */
void diff_table_percent(struct table *t, const char *mark, int64_t before, int64_t change);

void diff_table_jobs(struct table *t, const struct diff *diff);

#endif
