/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the table report; they write with table_out.h, as diff_table.c does,
 * where two runs are compared.
 */
#ifndef MEMTRACED_REPORT_TEXT_TABLE_H
#define MEMTRACED_REPORT_TEXT_TABLE_H

#include "report/text/table_out.h"

/* "exited with 3" */
void table_state(const struct model_process *image, struct strbuf *out);
/*
 * The image of the program whose heap was counted last: the process, or one of before its depth
 * changed. Without any, the process.
 */
const struct view_process *table_counted(const struct table *t, const struct view_process *process);
/* Of that; 0 where the heap is not counted. */
int64_t table_heap_bytes(const struct table *t, const struct view_process *process);
/*
 * What comes first: n processes, sorted, and their sites; nothing where no site is to be shown. 0
 * or -ENOMEM.
 */
int table_summary(struct table *t, struct view_process *const *processes, size_t n);
/*
 * The first n_shown of n processes in a line each, and one for each time before a depth changed;
 * nothing where they are few.
 */
void table_overview(struct table *t, struct view_process *const *processes, size_t n,
		    size_t n_shown);
/*
 * Shows what the process was before its depth changed, the latest time first, as many as are shown
 * of a thing. How many were not.
 */
size_t table_earlier_times(struct table *t, const struct view_process *process,
			   void (*show)(struct table *t, const struct view_process *part));
/* The line for the processes from n_shown on, which the table leaves out. */
void table_hidden(struct table *t, struct view_process *const *processes, size_t n, size_t n_shown,
		  const char *indent, const char *hint);
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
/* "RSS 1.2 MiB: heap 60%, files 40%": uses of 2 % and more. */
void table_resident_words(const struct record_resident *v, bool exact, struct strbuf *line);
/* "leak ~1.2 MiB/h", "steady" */
void table_growth_words(const struct growth *growth, struct strbuf *line);
/*
 * Which processes run code of which less is seen, and what helps; with those of an earlier run, if
 * that is not NULL.
 */
void table_programs(struct table *t, const struct view *before);
void table_coverage(struct table *t);
/* How closely an image was looked at, nothing but with --max-overhead; and what tracing cost. */
void table_process_depth(struct table *t, const struct view_process *process);
/* "from 1.0 s", and "to 2.0 s" or "on" */
void table_stretch_begin(const struct table *t, const struct model_process *image,
			 struct strbuf *out);
void table_stretch_end(const struct table *t, const struct model_process *image,
		       struct strbuf *out);
void table_depths(struct table *t);

#endif
