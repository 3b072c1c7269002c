/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What outputs were asked for, what each of them can hold, and whether they can be written, so that
 * a long run does not end in an error. Faults are logged. For outputs.c.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_OUTPUT_CHECKS_H
#define MEMTRACED_SERVICE_OUTPUT_OUTPUT_CHECKS_H

#include "config/options.h"

#include <stdbool.h>
#include <sys/types.h>

/* Those of the options, or the table. */
size_t outputs_count(const struct options *options);
const struct option_output *outputs_at(const struct options *options, size_t i);

/* A recording is no report: it takes in records rather than a view. */
bool output_is_recording(const struct option_output *output);
/* Does it hold the stacks of one job, or the allocations of one process? */
bool output_of_one_job(const struct option_output *output);
/* One number a stack: the heap's and that of mappings are two files (report_opts.mappings). */
bool output_of_one_quantity(const struct option_output *output);
bool output_of_one_process(const struct option_output *output);

/* Formats, paths and, of a run that begins, jobs. 0, -EINVAL, or what opening a file gave. */
int outputs_check(const struct options *options, uid_t uid, gid_t gid);
/* Against a run that is known; 0 or -EINVAL. */
int outputs_check_jobs(const struct options *options, size_t n_jobs);
int output_check_allocations(const struct option_output *output, bool has_allocations);

#endif
