/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How closely a run may look at allocations, so that this takes no more than a share of its
 * processes' own CPU time (--max-overhead), of a fifth of one CPU at least. Told what was used and
 * counted, says when the depth is to change. Plain data without a clock, a pure function of what it
 * is told.
 *
 * The share is earned by CPU time that is used, and spent in probes: what is left is the balance.
 * Exact depth is a try that the balance must be able to pay for, and is left while what is left
 * still pays for that, or after a stretch of three quarters of a second that took more than its
 * share. It is tried when samples predict that it takes at most half of the share of
 * a stretch of time, or to see, where nothing tells; the next stretch is taken whenever one was no
 * good, twice as long when a try was wrong. What a call takes is calibrated, and at exact depth
 * measured; until it was measured the prediction may be several times too high, and a try decides.
 * Of samples that take too much fewer are kept, their interval doubled, and more again when these
 * would take at most half of the share; where that is not enough they are left when they have taken
 * DEBT_NS too much.
 */
#ifndef MEMTRACED_SERVICE_SESSION_GOVERNOR_H
#define MEMTRACED_SERVICE_SESSION_GOVERNOR_H

#include "trace/record/record.h"

#include <stdbool.h>
#include <stdint.h>

/* The time that samples may take beyond the share before they are left. */
#define GOVERNOR_DEBT_NS UINT64_C(10000000)
/* Then one in 64 is kept: what is left are the traps. */
#define GOVERNOR_MOST_DOUBLINGS 6
/* What a try of exact depth may take of a CPU until it is noticed, and over. */
#define GOVERNOR_TRY_NS UINT64_C(30000000)

/*
 * What a call of an allocator takes of CPU time at exact depth: service/probe_cost.h. Many follow
 * each other; where one is seldom, as samples are, the program has filled the caches with its own.
 */
struct probe_cost {
	uint64_t call_ns;
	uint64_t trap_ns; /* of that, what a run of a program takes around it; 0: not known */
	uint64_t seldom_call_ns; /* not less */
};

/* All sums since the beginning. */
struct governor_look {
	uint64_t now_ns;
	uint64_t cpu_ns;	/* of the processes, with what probes take of it */
	uint64_t runs, runs_ns; /* of probes' programs, as the kernel counts it; 0: it does not */
	uint64_t hits;		/* calls that were counted, or samples */
	uint64_t sampled_calls; /* calls that samples stand for */
	bool has_samples;	/* of what is mapped, something shows them */
};

/* What happened between two looks. */
struct governor_stretch {
	double ns, spent_ns, own_ns, allowed_ns, calls;
	double base_ns; /* what the share is of: own_ns, or more */
	double seldom;	/* 0: hits find in the caches what they need, 1: nothing of it */
};

struct governor {
	double most; /* the share; 0: no limit, nothing is ever to change */
	struct probe_cost cost;
	enum record_depth depth;
	uint32_t doublings; /* of the samples' interval */
	struct governor_look last;
	double balance_ns;	  /* earned, and not spent; of a limited time */
	double debt_ns;		  /* since the depth changed */
	bool dear_samples;	  /* they were left for what they took */
	double spent_ns, base_ns; /* so far, */
	double counted_ns;	  /* and by what the kernel counts; 0: it does not */
	/* Of the latest calls at exact depth, the older ones for less: what they took. */
	double measured_calls, measured_ns;
	uint64_t changed_ns;	       /* when the depth changed last */
	uint64_t wait_ns;	       /* the stretch by which it is judged whether to go up */
	struct governor_stretch since; /* what of that has passed, or of one at exact depth */
	bool tried;		       /* the last change was upwards */
};

void governor_init(struct governor *governor, double most, const struct probe_cost *cost,
		   uint64_t now_ns);

/*
 * The first depth, from which on looks are to follow: exact if used_ns, the CPU time that the
 * processes used before, has earned a try, as nothing else can tell what it would take; of what has
 * just been started that is nothing. Else samples if they will be shown, or page faults.
 */
enum record_depth governor_begin(struct governor *governor, uint64_t used_ns, bool has_samples);

/*
 * Exact depth, for a try that is not earned. What a call takes is known now; so many were counted
 * before the first look.
 */
void governor_begin_exact(struct governor *governor, const struct probe_cost *cost, uint64_t calls);

/* What was used until now, for governor_predicted_ppm. */
void governor_count(struct governor *governor, const struct governor_look *look);
/* The same. True: *ret_change is due, and was taken note of. Looks may not follow at once. */
bool governor_look(struct governor *governor, const struct governor_look *look,
		   struct record_depth_change *ret_change);

/* What a sample that is seldom is taken for, or its free. */
uint64_t governor_sample_ns(const struct probe_cost *cost);
/* What a call at exact depth is taken for: as measured, or as calibrated until then. */
uint64_t governor_call_ns(const struct governor *governor);
/* The CPU time that all shares are of, so far. */
uint64_t governor_base_ns(const struct governor *governor);
/* What tracing took so far, by the number of hits, and by what the kernel counts; in millionths. */
uint64_t governor_predicted_ppm(const struct governor *governor);
uint64_t governor_measured_ppm(const struct governor *governor); /* UINT64_MAX: not counted */

#endif
