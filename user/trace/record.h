/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records that a source yields and the model consumes: one tagged struct whatever the source,
 * live BPF or a recorded run. Pointers inside a record are borrowed for the duration of the call.
 * Times are CLOCK_MONOTONIC nanoseconds. The encoding on disk is trace/recording.h's.
 */
#ifndef MEMTRACED_TRACE_RECORD_H
#define MEMTRACED_TRACE_RECORD_H

#include "trace/record_counts.h"
#include "trace/record_symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_NO_SLOT UINT32_MAX
#define RECORD_BUILD_ID_MAX 20
/* Deeper frames are return addresses: no stack has them, bpf/abi.h's ABI_MAX_FRAMES. */
#define RECORD_EXACT_WORDS 2

enum record_type {
	RECORD_RUN = 1,	    /* first record */
	RECORD_FUNCTION,    /* a probed allocator function, before records that name its id */
	RECORD_PROCESS,	    /* a process image begins */
	RECORD_PROCESS_END, /* a process image ended */
	RECORD_MAPPING,	    /* a file (or vdso, JIT, anonymous executable) was mapped */
	RECORD_UNMAPPING,
	RECORD_STACK,	    /* before records that name its id, unless it was lost */
	RECORD_REGION,	    /* mmap class: a region was mapped */
	RECORD_REGION_GONE, /* mmap class: a range was unmapped (partial unmaps split regions) */
	RECORD_CUT,	    /* begins a consistent state: SITE, TOTALS and LOSS records follow */
	RECORD_TOTALS,	    /* a process's totals at the cut */
	RECORD_SITE,	    /* a site's values at the cut */
	RECORD_COVERAGE,    /* run-wide loss counters at the cut */
	RECORD_CUT_END,
	RECORD_UNPROBED,      /* a function that could not be probed */
	RECORD_SYMBOL,	      /* what an (object, offset) resolved to; only in recordings */
	RECORD_HISTOGRAM,     /* a histogram that was asked for, before its counts */
	RECORD_HIST_COUNTS,   /* in a cut: one group's counts so far */
	RECORD_EVENT,	      /* an event whose stacks are counted, before its counts */
	RECORD_EVENT_COUNT,   /* in a cut: how often an event happened on one stack so far */
	RECORD_OCCURRENCE,    /* one event with its own time */
	RECORD_SYSCALL,	      /* in a cut: a process's calls of one system call so far */
	RECORD_SYSCALL_FILE,  /* in a cut: what a process did with a file so far */
	RECORD_SYSCALL_STACK, /* in a cut: how often a stack made a system call so far */
	RECORD_STACK_CHECK,   /* in a cut: what came of the stacks that were checked so far */
	RECORD_STACK_DIFFERS, /* a stack that is not what the reference has; the first few */
	RECORD_JIT_CODE,      /* code that a run-time made in a process, by its own word */
};

struct record_run {
	const char *tool;	 /* "memtraced 0.1.0" */
	const char *kernel;	 /* uname -r */
	const char *attach_path; /* "session", "multi", "perf", "exit" */
	uint64_t start_realtime_ns;
	uint64_t start_ns;
	uint64_t age_resolution_ns; /* ages are true to this */
	bool no_allocations;	    /* the run had other jobs: there are no sites or totals */
	bool no_stacks;		    /* none were wanted: --max-stack=0 */
	const char *unwinder;	    /* of user stacks: "cfi", "fp"; NULL: unknown */
	const char *kernel_lacks;   /* trace/kernel_limits.h; NULL or empty: nothing */
};

struct record_function {
	uint16_t id;	      /* >= 1 */
	const char *name;     /* "malloc" */
	const char *object;   /* path as the target sees it */
	uint64_t file_offset; /* of the function's first byte in the object */
};

struct record_process {
	uint32_t slot; /* never used twice in one run */
	uint32_t pid;
	uint32_t ppid;
	uint32_t parent_slot; /* the process it was forked from, RECORD_NO_SLOT */
	uint32_t prev_slot;   /* the image that exec replaced, RECORD_NO_SLOT */
	bool root;	      /* named by -p, or started by -c (or an image that its exec made) */
	bool inherits;	      /* forked: mappings and live blocks are the parent's at that moment */
	uint64_t time_ns;
	const char *comm;
	const char *exe; /* NULL when unknown */
};

enum record_end { RECORD_END_EXIT, RECORD_END_SIGNAL, RECORD_END_EXEC, RECORD_END_UNKNOWN };

struct record_process_end {
	uint32_t slot;
	enum record_end how;
	int value; /* exit status or signal number */
	bool oom;  /* the OOM killer chose it */
	uint64_t time_ns;
};

struct record_mapping {
	uint32_t slot;
	uint64_t start, end, file_offset;
	uint64_t time_ns; /* from when on it holds */
	uint64_t dev, ino;
	const char *path; /* as the target sees it; "[vdso]", "[anon]", "//anon" */
	const char
		*local_path; /* where this host can open it, e.g. /proc/1/root/...; may be NULL */
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: none known */
	bool executable;
};

struct record_unmapping {
	uint32_t slot;
	uint64_t start, end, time_ns;
};

struct record_stack {
	uint64_t id;   /* 64-bit content hash */
	uint32_t slot; /* whose mappings the frames refer to; RECORD_NO_SLOT: kernel addresses */
	uint64_t time_ns;
	bool truncated;
	size_t n_frames;
	/* Return addresses, innermost first; caller of the function first. */
	const uint64_t *frames;
	bool interrupted; /* frames[0] is: all that readers before `exact` know */
	/*
	 * Bit i: frames[i] is where the code stood, no return address. So is what a signal
	 * interrupted, and before it the trampoline that its handler returns to.
	 */
	uint64_t exact[RECORD_EXACT_WORDS];
};

struct record_region {
	uint32_t slot;
	uint64_t start, end;
	uint64_t stack; /* stack id */
	uint64_t time_ns;
	uint16_t fn; /* function id of mmap or mremap */
};

struct record_region_gone {
	uint32_t slot;
	uint64_t start, end;
	uint64_t time_ns;
};

struct record_cut {
	uint64_t time_ns;
};

struct record_totals {
	uint32_t slot;
	const char *comm; /* as it is now; NULL: unchanged */
	uint64_t allocs, frees, failed, bytes;
	int64_t live_bytes, live_blocks;
	int64_t peak_bytes;
	uint64_t peak_error_bytes; /* 0: the sites' shares of the peak are exact */
	uint64_t temporary, missed_frees, unknown_frees;
	uint64_t lost; /* events of this process that were lost; exact only while 0 */
};

struct record_site {
	uint32_t slot;
	uint16_t fn;	/* function id; 0 unknown */
	uint64_t stack; /* stack id */
	int64_t live_bytes, live_blocks;
	uint64_t allocs, bytes, temporary;
	int64_t peak_bytes;
	uint64_t oldest_ns, newest_ns; /* ages of its live blocks at the cut; UINT64_MAX unknown */
};

struct record_loss {
	const char *cause; /* "block-map-full" */
	uint64_t count;
};

/* The cause of a loss when nothing was counted on purpose (--floor): there are no totals then. */
#define RECORD_CAUSE_FLOOR "nothing-counted"

struct record_coverage {
	bool exact;
	uint64_t events;			    /* allocations, frees and failed calls seen */
	uint64_t stacks_complete, stacks_truncated; /* events */
	size_t n_losses;
	const struct record_loss *losses; /* those with count > 0 */
	uint64_t stacks_guided; /* complete ones, in part by frame pointers for want of better */
	size_t n_cuts;
	const struct record_loss *cuts; /* of the truncated ones, by cause */
};

struct record_stack_check {
	size_t n_results;
	const struct record_loss *results; /* "identical", "different", ...; those with count > 0 */
};

struct record_stack_differs {
	uint32_t slot;
	bool whole;		      /* ours passes for that */
	const char *ours, *reference; /* a frame a line, innermost first: "/path/of/object+0x1f" */
};

struct record_unprobed {
	const char *function;
	const char *object;
	const char *why;
};

struct record {
	enum record_type type;
	union {
		struct record_run run;
		struct record_function function;
		struct record_process process;
		struct record_process_end process_end;
		struct record_mapping mapping;
		struct record_unmapping unmapping;
		struct record_stack stack;
		struct record_region region;
		struct record_region_gone region_gone;
		struct record_cut cut;
		struct record_totals totals;
		struct record_site site;
		struct record_coverage coverage;
		struct record_unprobed unprobed;
		struct record_symbol symbol;
		struct record_histogram histogram;
		struct record_hist_counts hist_counts;
		struct record_event event;
		struct record_event_count event_count;
		struct record_occurrence occurrence;
		struct record_syscall syscall;
		struct record_syscall_file syscall_file;
		struct record_syscall_stack syscall_stack;
		struct record_stack_check stack_check;
		struct record_stack_differs stack_differs;
		struct record_jit_code jit_code;
	};
};

/* Receives records in order. 0 or negative errno, which ends the drain. */
typedef int (*record_fn)(const struct record *record, void *userdata);

#endif
