/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of what processes do: they begin, map, unmap and end. Part of record.h, whose rules
 * apply: borrowed pointers, CLOCK_MONOTONIC nanoseconds.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_PROCESS_H
#define MEMTRACED_TRACE_RECORD_RECORD_PROCESS_H

#include "trace/record/image.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD_BUILD_ID_MAX 20

/* How closely an image's allocations are looked at. */
enum record_depth {
	RECORD_DEPTH_EXACT,
	RECORD_DEPTH_SAMPLED, /* those that the process has chosen: totals are estimates */
	RECORD_DEPTH_GROWTH,  /* none: page faults tell who takes new memory */
};

struct record_process {
	image_t image;
	uint32_t pid;
	uint32_t ppid;
	image_t parent_image; /* it was forked from it */
	image_t prev_image;   /* exec, or a change of depth, replaced it */
	bool root;	      /* named by -p, or started by -c (or an image that its exec made) */
	bool inherits;	      /* forked: mappings and live blocks are the parent's at that moment */
	uint64_t time_ns;
	const char *comm;
	const char *exe;	 /* NULL when unknown */
	enum record_depth depth; /* in a run whose depth changes (RECORD_DEPTH) */
	const char *command;	 /* with its arguments, quoted for a shell; NULL when unknown */
};

/*
 * Processes that use less of a CPU count as if they used so much: a large share of this is too
 * little to matter to the host, and a small one would allow no probe at all.
 */
#define RECORD_LEAST_CPUS 0.2

/*
 * The depth of all images that run is another from now on, and each goes on as a new one; or, at
 * the start of the run, the first depth where that is not exact depth. Of the same depth as before:
 * images go on, and of the samples that come fewer are kept, or more. Shares are of the processes'
 * own CPU time, of RECORD_LEAST_CPUS at least, in millionths; UINT64_MAX: not known.
 */
struct record_depth_change {
	uint64_t time_ns;
	enum record_depth depth;
	uint64_t calls_per_s;	/* of allocators, when it was decided */
	uint64_t predicted_ppm; /* what exact depth takes at that rate */
	uint32_t doublings;	/* of the samples' interval, as they took too much */
};

/*
 * As of the last cut. `measured`: the programs' own time, the traps that led to them, and what
 * those that are seldom drive out of the caches.
 */
struct record_overhead {
	uint64_t max_ppm;	/* asked for: --max-overhead */
	uint64_t predicted_ppm; /* by the number of calls and samples so far */
	uint64_t measured_ppm;	/* UINT64_MAX: this kernel does not tell */
	uint64_t cpu_ns;	/* what the shares are of: without what tracing takes */
	uint64_t call_ns;	/* what a call was taken for, */
	uint64_t sample_ns;	/* and a sample, or its free */
};

/*
 * What probes on allocators have cost so far, unless --max-overhead was given. As of the last cut.
 * `measured`: by the kernel's count of the programs' time for a part of the calls.
 */
struct record_cost {
	uint64_t calls;	       /* that were counted, */
	uint64_t span_ns;      /* and in which time */
	uint64_t predicted_ns; /* CPU time, by the time of a hit; UINT64_MAX: not known, as below */
	uint64_t measured_ns;
	uint64_t own_cpu_ns;   /* of the processes, without it */
	uint64_t uncounted_ns; /* of span_ns: nothing was counted, for what it would have cost */
	uint64_t limit_ppm;    /* share of CPU time above which counting stops; 0: there is none */
};

enum record_end {
	RECORD_END_EXIT,
	RECORD_END_SIGNAL,
	RECORD_END_EXEC,
	RECORD_END_UNKNOWN,
	RECORD_END_DEPTH,  /* the process goes on as another image, of another depth */
	RECORD_END_HIDDEN, /* it goes on, but the user who asked may not look at it any more */
};

struct record_process_end {
	image_t image;
	enum record_end how;
	int value; /* exit status or signal number */
	bool oom;  /* the OOM killer chose it */
	uint64_t time_ns;
	bool oom_unknown; /* not known whether it did; older recordings do not tell */
};

/* Known at the process's end, and of one that runs at a cut. */
struct record_name {
	image_t image;
	const char *comm;
};

enum record_killer {
	RECORD_KILLER_UNKNOWN,
	RECORD_KILLER_KERNEL,  /* by itself: the OOM killer, a limit, a namespace that ends */
	RECORD_KILLER_PROCESS, /* with a pid; the process itself, too */
};

/* Of a memory cgroup, in bytes. */
struct record_memory_use {
	uint64_t used, most;
	uint64_t limit; /* UINT64_MAX: none */
};

/*
 * Who killed a process that has ended, and what the kernel had in its books then. Comes before its
 * end.
 */
struct record_death {
	image_t image;
	int signal, code; /* siginfo's */
	uint64_t time_ns; /* when it was sent, or of a fault, delivered */
	enum record_killer killer;
	uint32_t sender, sender_uid; /* RECORD_KILLER_PROCESS */
	const char *sender_comm;     /* NULL: not known */
	bool oom;		     /* the OOM killer chose it */
	const char *oom_constraint;  /* "memcg", "none", ...; NULL: not known */
	const char *oom_cgroup;	     /* whose limit it was, as a path; NULL: none's, or not known */
	struct record_memory_use oom_use;
	bool has_memory; /* bytes, as the kernel's own message has them: all but exact */
	uint64_t total_vm, anon, file, shared, swapped, page_tables;
	int oom_score_adj;
	uint32_t uid, euid;
	const char *cgroup; /* the memory controller's; NULL: not known */
	struct record_memory_use use;
	const char *full_cgroup; /* it, or the next around it, that was at its limit; NULL: none */
	struct record_memory_use full_use;
	bool has_events; /* of that cgroup so far: */
	uint64_t limit_hits, ooms, oom_kills;
};

/*
 * What the kernel was about to kill a process for. A block's address of 0: none is near; a stack of
 * 0 with a function of 0: not known.
 */
struct record_fault {
	image_t image;
	uint32_t tid;
	int signal, code; /* siginfo's */
	bool has_addr;	  /* false: the signal is about no address */
	uint64_t addr;	  /* that was touched, or of the instruction */
	uint64_t stack;	  /* stack id */
	uint64_t time_ns;
	uint64_t block, block_size; /* the one that addr is in, or is nearest to */
	uint16_t block_fn;	    /* which made it, */
	uint64_t block_stack;	    /* and where */
	bool freed;		    /* it was freed: */
	uint16_t freed_fn;
	uint64_t freed_stack;
	bool unsearched; /* not all blocks were looked at: the nearest is not known */
};

struct record_mapping {
	image_t image;
	uint64_t start, end, file_offset;
	uint64_t time_ns; /* from when on it holds */
	uint64_t dev, ino;
	const char *path; /* as the target sees it; "[vdso]", "[anon]", "//anon" */
	const char
		*local_path; /* where this host can open it, e.g. /proc/1/root/...; may be NULL */
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: none known */
	bool executable;
	uint32_t kind; /* enum program_kind (probe/program_kinds.h) of its file, or a later one */
};

struct record_unmapping {
	image_t image;
	uint64_t start, end, time_ns;
};

struct record_region {
	image_t image;
	uint64_t start, end;
	uint64_t stack; /* stack id */
	uint64_t time_ns;
	uint16_t fn; /* function id of mmap or mremap */
};

struct record_region_gone {
	image_t image;
	uint64_t start, end;
	uint64_t time_ns;
};

#endif
