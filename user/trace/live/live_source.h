/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the live source says of itself: its run, its state, what the kernel lacks. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_SOURCE_H
#define MEMTRACED_TRACE_LIVE_LIVE_SOURCE_H

#include "trace/live/live_state.h"

/* Do the programs find the processes of the rule, and not the jobs those of the host or cgroup? */
bool live_finds_processes(const struct live_opts *opts);

/* From now on records go there (live_emit); the run is described before the first. */
int live_begin_emitting(struct live *live, record_fn fn, void *userdata);

#endif
