/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the table report; they write with table_out.h, as diff_table.c does,
 * where two runs are compared.
 */
#ifndef MEMTRACED_REPORT_TEXT_TABLE_H
#define MEMTRACED_REPORT_TEXT_TABLE_H

#include "report/text/table_out.h"

void table_histograms(struct table *t);
int table_events(struct table *t);
void table_syscalls(struct table *t);
void table_sites(struct table *t, const struct view_process *process, enum view_class class);
/* Nothing where there was no check. */
void table_leaks(struct table *t, const struct view_process *process);
/* Nothing where there are none. */
void table_errors(struct table *t, const struct view_process *process);
/* Nothing where there was none. */
void table_fault(struct table *t, const struct view_process *process);
void table_death(struct table *t, const struct view_process *process);
/* What --group-by sums, of all processes. 0 or -ENOMEM. */
int table_groups(struct table *t);
void table_resident(struct table *t, const struct view_process *process);
void table_coverage(struct table *t);
/* Both nothing but with --max-overhead: how closely an image was looked at, and what that cost. */
void table_process_depth(struct table *t, const struct view_process *process);
void table_depths(struct table *t);

#endif
