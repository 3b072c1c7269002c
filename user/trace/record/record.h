/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records that a source yields and the model consumes: one tagged struct whatever the source,
 * live BPF or a recorded run. Pointers inside a record are borrowed for the duration of the call.
 * Times are CLOCK_MONOTONIC nanoseconds. The encoding on disk is trace/record/recording.h's.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_H
#define MEMTRACED_TRACE_RECORD_RECORD_H

#include "trace/record/image.h"
#include "trace/record/record_counts.h"
#include "trace/record/record_cut.h"
#include "trace/record/record_leaks.h"
#include "trace/record/record_process.h"
#include "trace/record/record_sample.h"
#include "trace/record/record_symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words that have a bit for each of a stack's first 128 frames; a list has the bits of more. */
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
	RECORD_HEAP_ERROR,    /* in a cut: a wrong use of the heap so far */
	RECORD_SAMPLE,	      /* begins a sample: what its processes and sites hold follows */
	RECORD_SAMPLE_PROCESS,
	RECORD_SAMPLE_SITE,
	RECORD_SAMPLE_END,
	RECORD_RESIDENT = 34, /* what of a process was in memory while it ran */
	RECORD_FAULT,	      /* why a process is killed, and the block that is near */
	RECORD_FREE_PAIR,     /* in a cut: blocks of a site that were freed at one place so far */
	RECORD_DEATH = 37,    /* who killed a process, before its end */
	RECORD_LEAKS = 40,    /* what a leak check of a process has found */
	RECORD_LEAK_TEXT,     /* and the text that was written of it, with wrong uses */
	RECORD_DEPTH = 42,    /* allocations are looked at in another way from now on */
	RECORD_OVERHEAD,      /* what the run costs its processes so far */
	RECORD_SYMBOLS_UNREAD = 45, /* whose symbols could not be read; only in recordings */
	RECORD_NAME = 46,	    /* a process has another name */
	RECORD_COST,		    /* of probes on allocators, where nothing limits it */
	RECORD_SITES_DIFFER,	    /* probes inside a function saw other calls than around it */
	RECORD_CUT_OFF = 63,	    /* what was recorded has no end; in no file, of who reads one */
};

struct record_run {
	const char *tool;	 /* "memtraced 0.1.0" */
	const char *kernel;	 /* uname -r; NULL unknown */
	const char *attach_path; /* "session", "multi", "perf", "exit"; NULL unknown */
	uint64_t start_realtime_ns;
	uint64_t start_ns;
	uint64_t age_resolution_ns; /* ages are true to this */
	bool no_allocations;	    /* the run had other jobs: there are no sites or totals */
	bool no_stacks;		    /* none were wanted: --max-stack=0 */
	const char *unwinder;	    /* of user stacks: "cfi", "fp"; NULL: unknown */
	bool free_stacks;	    /* where blocks are freed is counted: RECORD_FREE_PAIR */
	const char *kernel_lacks;   /* trace/kernel/kernel_limits.h; NULL or empty: nothing */
	bool sampled;		    /* allocations are samples: totals and sites are estimates */
	uint64_t growth_span_ns;    /* what was sampled for less is not judged: it begins */
	bool no_heap;		    /* sites are of class mmap alone, and there are no totals */
	/* RECORD_BY_LIBRARY: calls are counted by our library; or why they are not, though that was
	 * asked for; NULL: it was not. */
	const char *counted_by;
};

struct record_function {
	uint16_t id;	      /* >= 1 */
	const char *name;     /* "malloc" */
	const char *object;   /* path as the target sees it; NULL: it is in none */
	uint64_t file_offset; /* of the function's first byte in the object */
};

#define RECORD_BY_LIBRARY "library"

/* The id that stands for what allocated the blocks of before; their sites have no stack. */
#define RECORD_BEFORE_ATTACH 3
#define RECORD_BEFORE_ATTACH_NAME "[before attach]"
/* The same of samples, whose stacks begin inside the allocator: ABI_FN_SAMPLED. */
#define RECORD_SAMPLED_NAME "[sampled]"

/* The id that stands for all stacks of a process that found no room: there is no record of it. */
#define RECORD_STACK_OTHER UINT64_MAX
#define RECORD_STACK_OTHER_NAME "[other stacks]"
/* The id where there was no user code that could have a stack. */
#define RECORD_STACK_NO_CODE (UINT64_MAX - 1)

struct record_stack {
	uint64_t id;   /* 64-bit content hash */
	image_t image; /* whose mappings the frames refer to; RECORD_NO_IMAGE: kernel addresses */
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
	/* The same of the frames from RECORD_EXACT_WORDS * 64 on. */
	size_t n_more_exact;
	const uint64_t *more_exact;
};

struct record_unprobed {
	const char *function;
	const char *object;
	const char *why;
};

/* So its calls go on to be counted by entry and return: no loss. */
struct record_sites_differ {
	const char *function;
	const char *object;
	uint64_t calls;	    /* that were compared */
	uint64_t different; /* of them */
};

struct record {
	enum record_type type;
	union {
		struct record_run run;
		struct record_function function;
		struct record_process process;
		struct record_process_end process_end;
		struct record_name name;
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
		struct record_sites_differ sites_differ;
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
		struct record_symbols_unread symbols_unread;
		struct record_depth_change depth_change;
		struct record_overhead overhead;
		struct record_cost cost;
		struct record_heap_error heap_error;
		struct record_fault fault;
		struct record_death death;
		struct record_free_pair free_pair;
		struct record_leaks leaks;
		struct record_leak_text leak_text;
		struct record_resident resident;
		struct record_sample sample;
		struct record_sample_process sample_process;
		struct record_sample_site sample_site;
		struct record_sample_end sample_end;
	};
};

/* Receives records in order. 0 or negative errno, which ends the drain. */
typedef int (*record_fn)(const struct record *record, void *userdata);

#endif
