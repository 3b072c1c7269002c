/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probes on allocators cost, unless --max-overhead was given, for which governor.h counts. The
 * time of a call is predicted from that of a hit. The kernel counts the programs' time only now and
 * then, since each run of a program takes longer meanwhile (trace/bpf/run_stats.h): what calls took
 * in such a window stands for those since the window before. Plain data without a clock.
 */
#ifndef MEMTRACED_SERVICE_SESSION_COST_METER_H
#define MEMTRACED_SERVICE_SESSION_COST_METER_H

#include "trace/bpf/run_stats.h"
#include "trace/record/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Since the beginning. */
struct cost_look {
	uint64_t now_ns;
	uint64_t calls;
	uint64_t cpu_ns; /* of the processes, with what probes take of it; UINT64_MAX: not known */
};

/* What a hit takes where that was not measured: more than on most machines. */
#define COST_ASSUMED_HIT_NS 1000
/*
 * Of a pair of an allocation and a free: three hits, and the programs with a stack take as long as
 * another (docs/hacking/cost.md).
 */
#define COST_HITS_OF_A_CALL 2

/* From when to when the kernel counted the programs' time. */
struct cost_window {
	uint64_t from_ns, to_ns;
	uint64_t calls; /* that were counted in it; and the number of the last one: */
	uint64_t until;
	struct run_stats runs;
};

struct cost_meter {
	uint64_t hit_ns; /* of a probe; 0: not known */
	struct cost_look start;
	bool by_time, is_measured;	  /* the latter: by time, there was a window */
	uint64_t measured_until;	  /* what measured_ns is of, by time */
	uint64_t second_ns;		  /* what a second took in the latest window */
	uint64_t window_calls, window_ns; /* of the latest windows, until they tell something */
	uint64_t call_ns;		  /* by the windows before; 0: there are none */
	uint64_t measured_calls;	  /* since the beginning, and what they took: */
	uint64_t measured_ns;
	bool is_paused;	       /* nothing is counted, */
	uint64_t paused_at;    /* since then; */
	uint64_t uncounted_ns; /* and so long before */
	uint64_t resumed_at;   /* when counting went on; 0: it has from the start */
};

void cost_meter_init(struct cost_meter *meter, uint64_t hit_ns, const struct cost_look *start);

/*
 * A window stands for the time since the one before and not for calls: probes that processes run
 * into whose calls are not counted cost these as much. There is no prediction then.
 */
void cost_meter_measure_by_time(struct cost_meter *meter);

void cost_meter_add_window(struct cost_meter *meter, const struct cost_window *window);

/*
 * What calls have taken until then by the windows so far, of which `now` has number and time;
 * UINT64_MAX: none tells.
 */
uint64_t cost_meter_measured_ns(const struct cost_meter *meter, const struct cost_look *now);

/* From now on calls are counted, or not. */
void cost_meter_set_counting(struct cost_meter *meter, bool counts, uint64_t now_ns);

/* What all calls since the start have cost. */
struct record_cost cost_meter_read(const struct cost_meter *meter, const struct cost_look *now);

#endif
