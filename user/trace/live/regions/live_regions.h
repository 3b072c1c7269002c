/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mmap class: memory that programs map, and what their allocators map for themselves. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_REGIONS_H
#define MEMTRACED_TRACE_LIVE_LIVE_REGIONS_H

#include "trace/live/live_state.h"

int live_on_region(struct live *live, const struct abi_ev_map *ev);
/* Before coverage is told: their stacks wait no more. */
void live_count_waiting_regions(struct live *live);
/* A forked child has what its parent's allocators have mapped. 0 or -ENOMEM. */
int live_regions_fork(const struct live_process *parent, struct live_process *child);
void live_regions_done(struct live_process *process);

#endif
