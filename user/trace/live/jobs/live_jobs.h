/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs beside allocations: loaded, announced, and read at each cut. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_JOBS_H
#define MEMTRACED_TRACE_LIVE_LIVE_JOBS_H

#include "trace/live/live_state.h"

int live_describe_jobs(struct live *live);
/* The event that was added last, while processes are traced; the kernel's code before it. */
int live_describe_event(struct live *live, bool with_kernel);
/*
 * Within a cut: their counts, added to `running`; those that are read for the last time, as they
 * will be deleted, to `settled`.
 */
int live_read_jobs(struct live *live, struct cut_coverage *running, struct cut_coverage *settled);
/* Times that a program, of a job or of what follows processes, was not run. */
uint64_t live_jobs_missed(const struct live *live);
/* LOSS_CPU_AWAY */
uint64_t live_cpu_gaps(const struct live *live);
int live_on_occurrence(struct live *live, const struct abi_ev_occurrence *ev);
int live_on_file(struct live *live, const struct abi_ev_file *ev);
/* After a cut: deletes what the jobs still hold of ended processes that it was the second of. */
int live_purge_jobs(struct live *live);
/* Does it do so? */
bool live_purges_jobs(const struct live *live);

#endif
