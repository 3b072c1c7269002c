/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events and histograms in the table of diffs. */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_TABLE_JOBS_H
#define MEMTRACED_REPORT_DIFF_DIFF_TABLE_JOBS_H

#include "report/diff/diff.h"
#include "report/text/table_out.h"

void diff_table_jobs(struct table *t, const struct diff *diff);

#endif
