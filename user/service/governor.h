/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How closely a run may look at allocations, so that this takes no more than a share of its
 * processes' own CPU time (--max-overhead). Told what was used and counted, says when the depth is
 * to change. Plain data without a clock, a pure function of what it is told.
 *
 * What goes beyond the share is a debt, and what stays below pays it back: at DEBT_NS a depth less
 * is taken, so that a start or a burst changes nothing. Up it goes when exact depth is predicted to
 * take at most half of the share of a stretch of time, the next whenever one was no good, and twice
 * as long when a change was wrong; where nothing is counted that could predict it, by a try.
 */
#ifndef MEMTRACED_SERVICE_GOVERNOR_H
#define MEMTRACED_SERVICE_GOVERNOR_H

#include "trace/record/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The time in probes that may go beyond the share before the depth changes. */
#define GOVERNOR_DEBT_NS UINT64_C(10000000)

/* What a call of an allocator takes of CPU time at exact depth: service/probe_cost.h. */
struct probe_cost {
	uint64_t call_ns;
	uint64_t trap_ns; /* of that, what a run of a program takes around it; 0: not known */
};

/* All sums since the beginning. */
struct governor_look {
	uint64_t now_ns;
	uint64_t cpu_ns;	/* of the processes, with what probes take of it */
	uint64_t spent_ns;	/* in probes, as the kernel counts it; 0: nobody does */
	uint64_t hits;		/* calls that were counted, or samples */
	uint64_t sampled_calls; /* calls that samples stand for */
	bool has_samples;	/* of what is mapped, something shows them */
};

/* What happened between two looks. */
struct governor_stretch {
	double ns, spent_ns, own_ns, allowed_ns, calls;
};

struct governor {
	double most; /* the share; 0: no limit, nothing is ever to change */
	double call_ns, sample_ns;
	enum record_depth depth;
	struct governor_look last;
	double debt_ns;
	double spent_ns, own_ns;       /* so far */
	uint64_t changed_ns;	       /* when the depth changed last */
	uint64_t wait_ns;	       /* the stretch by which it is judged whether to go up, */
	struct governor_stretch since; /* and what of it has passed */
	bool tried;		       /* the last change was upwards */
};

/* call_ns: of CPU time of a call of an allocator at exact depth. */
void governor_init(struct governor *governor, double most, uint64_t call_ns, uint64_t now_ns);

/* What was used until now, for governor_predicted_ppm. */
void governor_count(struct governor *governor, const struct governor_look *look);
/* The same. True: *ret_change is due, and was taken note of. Looks may not follow at once. */
bool governor_look(struct governor *governor, const struct governor_look *look,
		   struct record_depth_change *ret_change);

/* What tracing took of the processes' own time so far, by the number of hits; in millionths. */
uint64_t governor_predicted_ppm(const struct governor *governor);

#endif
