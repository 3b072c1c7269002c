/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The jobs of a run that have stacks: allocations or mappings, if they are traced, then the events
 * as they were asked for; counted from 0, as in report_opts.job. And where their outputs go, since
 * some formats hold the stacks of one job: %e in a path is the job's name, %p the process id.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_JOBS_H
#define MEMTRACED_SERVICE_OUTPUT_JOBS_H

#include "base/strbuf.h"
#include "config/options.h"
#include "model/model.h"

#include <stdbool.h>

/* As the command line asks for them. */
size_t jobs_asked(const struct options *options);

/* As the model knows them: a recording's are not those of the command line. */
size_t jobs_count(const struct model *model);
/*
 * Were mappings seen beside the heap? Formats with one number a stack have a file of their own for
 * them, where %e makes a file for each job. Their name is that of the job jobs_count.
 */
bool jobs_have_mappings(const struct model *model);
/* The place of an event that the model knows. */
size_t jobs_of_event(const struct model *model, uint32_t event_id);

/*
 * The name of a job as a part of a file's name, another one for each: "alloc", "mmap",
 * "getrandom", "sched-sched_switch".
 */
void jobs_name(const struct model *model, size_t job, struct strbuf *out);

/* Whether a path has %e in it, or %p. */
bool path_has_job(const char *path);
bool path_has_pid(const char *path);

/* The path with %p and %e replaced, %% by a percent sign; malloc'ed, NULL without memory. */
char *path_expand(const char *path, pid_t pid, const char *job_name);

#endif
