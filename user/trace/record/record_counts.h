/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of the jobs that count: histograms, event stacks, system calls. Part of record.h,
 * whose rules apply: borrowed pointers, CLOCK_MONOTONIC nanoseconds.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_COUNTS_H
#define MEMTRACED_TRACE_RECORD_RECORD_COUNTS_H

#include "trace/record/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_histogram {
	uint32_t id;
	const char *spec; /* as it was asked for */
	const char *unit; /* "bytes", "ns"; NULL: a plain number */
	const char *by;	  /* what groups are told apart by: "comm", "pid"; NULL: one group */
	bool linear;	  /* else buckets are powers of two */
	uint64_t step;	  /* linear: width of a bucket */
};

/* lo <= x < hi; INT64_MIN and INT64_MAX are open ends. */
struct record_bucket {
	int64_t lo, hi;
	uint64_t count;
};

struct record_errno {
	uint32_t number; /* errno(3) */
	uint64_t count;
};

struct record_hist_counts {
	uint32_t id;
	const char *key; /* the group's comm or pid; NULL: everything */
	size_t n_buckets;
	const struct record_bucket *buckets; /* those with count > 0, ascending */
	/* Results of system calls that are errors; they are in the bucket below 0, too. */
	size_t n_errors;
	const struct record_errno *errors;
	/* System calls that a signal interrupted and the kernel began anew; they return later. */
	uint64_t restarted;
	/* Allocator calls that an interposed function passed on: counted once. */
	uint64_t passed_on;
};

struct record_event {
	uint32_t id;
	const char *name;    /* "syscalls:sys_enter_getrandom" */
	bool kernel;	     /* kernel stacks are taken, too */
	uint64_t period_ns;  /* samples: so much time of a CPU is each; 0: it counts itself */
	bool timed;	     /* it takes time, which counts have */
	uint32_t period;     /* each stands for so many; 0: for itself, or see period_ns */
	uint64_t page_bytes; /* of page faults: what one is of a small page; 0: another event */
	bool adapts;	     /* the period follows what comes, and each count has its weight */
};

struct record_event_count {
	uint32_t id;
	image_t image;
	uint64_t stack;	       /* user stack id; 0: none, or lost */
	uint64_t kernel_stack; /* stack id of RECORD_NO_IMAGE; 0: none */
	uint64_t count;
	uint64_t first_ns, last_ns;
	uint64_t ns; /* if it is timed: of all together, until now of those that wait */
	/* Of page faults; 0 in older recordings, where each counts for the event's period. */
	uint64_t weight;   /* how many the samples stand for */
	uint64_t variance; /* of that, where the period adapts: w (w - 1) of each sample */
	uint64_t interval; /* the most that one of the run's samples stood for, or could have */
};

struct record_occurrence {
	uint32_t id;
	image_t image;
	uint32_t tid, cpu;
	uint64_t time_ns;
	uint64_t stack, kernel_stack; /* as above */
	const char *comm;
	uint64_t weight; /* of page faults: how many it stands for; 0: an older recording */
};

struct record_syscall {
	image_t image;
	int32_t number;
	const char *name; /* NULL: a number without a name */
	uint64_t calls;	  /* those in no bucket have no latency: begin or end was not seen */
	uint64_t errors;
	uint64_t restarted; /* times that the kernel began a call anew after a signal */
	uint64_t total_ns, max_ns;
	uint64_t bytes;	  /* read or written by it */
	size_t n_buckets; /* of latencies in ns, as in struct record_hist_counts */
	const struct record_bucket *buckets;
	size_t n_errnos;
	const struct record_errno *errnos;
};

struct record_syscall_file {
	image_t image;
	const char *path; /* as first seen; "socket:[1]"; "?": unknown */
	uint64_t opens, reads, writes;
	uint64_t bytes_read, bytes_written;
	uint64_t total_ns; /* in all calls on it */
	uint64_t others;   /* calls that are none of the three */
};

struct record_syscall_stack {
	image_t image;
	int32_t number;
	uint64_t stack; /* stack id; 0: lost */
	uint64_t calls;
	uint64_t total_ns;
};

#endif
