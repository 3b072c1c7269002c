/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What helps where little or nothing was seen is a part of some reports; where none of these is
 * written, it goes to standard error. Pure but for the log.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_HINTS_H
#define MEMTRACED_SERVICE_OUTPUT_HINTS_H

#include <stdbool.h>

struct model;
struct options;

/* Does a report say it? */
bool hints_are_written(const struct options *options);

/* Before the reports of a recording at `path`: whether it cannot be sorted as asked. */
void hints_log_sort(const struct options *options, const struct model *model, const char *path);

/* Of a run that saw nothing: what to try. After its last report. */
void hints_log(const struct options *options, const struct model *model);

#endif
