/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call of an allocator costs when it is traced, on this machine and kernel: measured, with
 * the programs that count.
 */
#ifndef MEMTRACED_SERVICE_PROBE_COST_H
#define MEMTRACED_SERVICE_PROBE_COST_H

#include "service/session/governor.h"

struct worker;

/* Where it could not be measured: more than any kernel was seen to take. */
#define PROBE_COST_ASSUMED_NS 10000U
#define PROBE_COST_ASSUMED                                                                         \
	{                                                                                          \
		.call_ns = PROBE_COST_ASSUMED_NS, .seldom_call_ns = PROBE_COST_ASSUMED_NS          \
	}

/*
 * Nanoseconds of CPU time of a call of the allocator that is traced: the mean of an allocation (two
 * hits and a stack) and a free (one hit). A child of ours makes such pairs; the fastest rounds
 * count, since what else runs only makes rounds longer. The call itself is a part of it, some 20 ns
 * of a thousand: without it another tracer's probes, which may be there now and not later, would be
 * taken off. Of seldom calls, as samples are, the median of pairs counts, before each of which
 * 16 MiB of other memory are read.
 *
 * Takes as long as a trace takes to begin. The worker is session_new_served's. 0 or negative errno:
 * then the cost is the assumed one, which is said (logged, with `whose` before it).
 */
int probe_cost_measure(struct worker *worker, const char *whose, struct probe_cost *ret_cost);

#endif
