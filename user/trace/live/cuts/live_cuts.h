/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts and samples: what processes hold now, as records. They read, and change nothing but what
 * they have counted.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_CUTS_H
#define MEMTRACED_TRACE_LIVE_LIVE_CUTS_H

#include "trace/live/live_state.h"

/*
 * The records of one cut, of all processes or of those that have ended, which are settled then.
 * time_ns: when it began. After a drain, while the ring is emptied into memory.
 */
int live_read_cut(struct live *live, bool ended_only, uint64_t time_ns);
/* The records of a sample; after a drain. *ret_cpu_ns as live_sample's */
int live_take_sample(struct live *live, uint64_t *ret_cpu_ns);
/* With the block that is near, which is looked for in the tables. */
int live_on_fault(struct live *live, const struct abi_ev_fault *ev);

#endif
