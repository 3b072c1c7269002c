/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What jobs count: --hist (bpf/hist.bpf.c, trace/jobs/hist_job.c) and -e (bpf/event.bpf.c,
 * trace/jobs/event_job.c). System calls have bpf/abi_syscalls.h.
 */
#ifndef MEMTRACED_BPF_ABI_JOBS_H
#define MEMTRACED_BPF_ABI_JOBS_H

#include "abi.h"

/* What a histogram is of; see bpf/hist.bpf.c. */
enum abi_hist_source {
	ABI_HIST_RESULT,   /* of a system call */
	ABI_HIST_ARGUMENT, /* of a system call */
	ABI_HIST_LATENCY,  /* of a system call, ns */
	ABI_HIST_FIELD,	   /* of a tracepoint */
	ABI_HIST_SIZE,	   /* requested from an allocator function */
};
enum abi_hist_by { ABI_HIST_BY_NONE, ABI_HIST_BY_COMM, ABI_HIST_BY_PID };

/*
 * Buckets of powers of two: 0 holds what is below 0, 1 holds 0, 2 + n holds [2^n, 2^(n+1)).
 * Linear ones: 0 holds what is below the minimum, the last what is not below the maximum.
 */
#define ABI_HIST_LOG2_BUCKETS 66
#define ABI_HIST_MAX_BUCKETS 1026

/* One count of one group; by CPU, to be summed. */
enum abi_hist_count {
	ABI_HIST_BUCKET,    /* which: the bucket */
	ABI_HIST_ERROR,	    /* which: errno */
	ABI_HIST_RESTARTED, /* system calls begun anew after a signal */
	ABI_HIST_PASSED_ON, /* allocator calls that a wrapper passed on */
};
struct abi_hist_key {
	char group[16]; /* the comm; or the pid, 4 bytes; or nothing */
	__u16 which;
	__u16 count; /* enum abi_hist_count */
	__u32 cpu;
};

/* How often an event happened on these stacks; by CPU, to be summed. */
struct abi_event_key {
	__u64 stack;
	__u64 kernel_stack;
	__u32 image; /* abi_proc.image */
	__u32 cpu;
};

struct abi_event_count {
	__u64 count;
	__u64 first_ns;
	__u64 last_ns;
	__u64 ns; /* of all of them together, where they take time */
	/* Of page faults: how many its samples stand for, and the variance of that. */
	__u64 weight;
	__u64 variance;
};

/*
 * Page faults of a CPU. Each so many-th, of all processes, is a tick of perf's, by a period that
 * the daemon sets; of the ticks that are of wanted processes one in 2^doublings is kept, by chance.
 * So a tick stands for the faults since the last one, whatever the period was and is, and a sample
 * for 2^doublings times as many. When there are FAULTS_MOST samples within FAULTS_WINDOW_NS there
 * will be half as many, and when there is a fraction of it twice as many.
 */
struct abi_fault_clock {
	__u64 seen;  /* faults until the last tick, since the event was opened */
	__u64 ticks; /* so far */
	__u64 since_ns;
	__u32 samples; /* since then */
	__u32 doublings;
	__u64 most_weight; /* that a sample ever had */
	__u64 pad[3];	   /* a cache line for each CPU */
};
#define ABI_FAULTS_WINDOW_NS 1000000000ULL
#define ABI_FAULTS_MOST 512
#define ABI_FAULTS_MOST_DOUBLINGS 10

/* A thread that waits. */
struct abi_blocked {
	__u64 since_ns;
	struct abi_event_key key;
};

#ifndef __bpf__
static_assert(sizeof(struct abi_hist_key) == 24, "abi_hist_key");
static_assert(sizeof(struct abi_event_key) == 24, "abi_event_key");
static_assert(sizeof(struct abi_fault_clock) == 64, "abi_fault_clock");
#endif

#endif
