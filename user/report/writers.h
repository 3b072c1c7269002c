/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writers that stand in report.c's table; each is a file of its name.
 */
#ifndef MEMTRACED_REPORT_WRITERS_H
#define MEMTRACED_REPORT_WRITERS_H

#include "report/view/view.h"

#include <stdio.h>

int table_write(const struct view *view, FILE *file);
int json_write(const struct view *view, FILE *file);
int html_write(const struct view *view, FILE *file);
int folded_write(const struct view *view, FILE *file);
int perf_script_write(const struct view *view, FILE *file);
int perf_data_write(const struct view *view, FILE *file);
int gprof2dot_write(const struct view *view, FILE *file);
int flamegraph_write(const struct view *view, FILE *file);
int pprof_write(const struct view *view, FILE *file);
int speedscope_write(const struct view *view, FILE *file);
int callgrind_write(const struct view *view, FILE *file);
int massif_write_process(const struct view *view, const struct view_process *process, FILE *file);
int heaptrack_write_process(const struct view *view, const struct view_process *process,
			    FILE *file);
int dhat_write_process(const struct view *view, const struct view_process *process, FILE *file);
int prometheus_write(const struct view *view, FILE *file);
int openmetrics_write(const struct view *view, FILE *file);

/* Of two runs: report/diff/. */
struct diff;
int diff_table_write(const struct diff *diff, FILE *file);
int diff_json_write(const struct diff *diff, FILE *file);
int diff_folded_write(const struct diff *diff, FILE *file);
int diff_flamegraph_write(const struct diff *diff, FILE *file);
int diff_pprof_write(const struct diff *diff, FILE *file);

#endif
