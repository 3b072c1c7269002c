/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run counts and how: by it programs are chosen and map sizes set.
 */
#ifndef MEMTRACED_TRACE_BPF_PROGRAMS_OPTS_H
#define MEMTRACED_TRACE_BPF_PROGRAMS_OPTS_H

#include "bpf/abi_sample.h"
#include "trace/bpf/map_room.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Which processes are counted beside those that user space names: bpf/wanted.bpf.h. */
struct target_rule {
	enum abi_scope scope; /* ABI_SCOPE_PROCESSES: none, but the rest holds for those named */
	bool of_uid;
	uid_t uid;		       /* real, where of_uid */
	const struct abi_names *names; /* borrowed; NULL: of all names */
};

/* How probes are attached; see docs/guide/requirements.md. Order: best first. */
enum attach_path {
	ATTACH_PATH_SESSION, /* one uprobe-multi session link: entry and return in one program */
	ATTACH_PATH_MULTI,   /* uprobe-multi links, one for entries, one for returns */
	ATTACH_PATH_PERF,    /* perf-event uprobes and return probes */
	ATTACH_PATH_EXIT,    /* entries and exit sites, no return probe at all */
	ATTACH_PATHS
};

/* "session", "multi", "perf", "exit". */
const char *attach_path_name(enum attach_path path);

/* What a run counts and how: what the session asks for, which all of the live source goes by. */
struct run_opts {
	enum attach_path path;
	bool follow;
	bool no_exec;	  /* what a process executes is not traced, but for the command */
	bool heap_errors; /* where blocks are freed is remembered, for double frees */
	bool free_stacks; /* where a site's blocks are freed is counted */
	bool lifetimes;	  /* of blocks are known to a microsecond, not to a tick */
	struct map_room room;
	struct abi_block_filter block_filter;
	uint32_t max_stack;    /* callers kept of a stack, up to ABI_MAX_FRAMES */
	uint32_t check_stacks; /* so many are checked: trace/unwind/stack_check.h */
	bool allocations;      /* else only what jobs need: live_add_hist and so on */
	bool sampled;	       /* allocations: those that processes show by USDT probes */
	bool both;	       /* with that: both; each image is of one kind (live_set_depth) */
	bool code;	       /* what processes map of executable files is recorded, for stacks */
	/*
	 * With `code`, and samples alone, of jobs or of allocations: it is looked at when a process
	 * is first seen and when its samples show another number of executable pages, without
	 * tracepoints of system calls, which all processes of the host pay for. A library that
	 * takes the place of another of as many pages between two samples is not told from it.
	 * With `sampled` the dynamic linker's own stop tells as well (on_loader), of each, and
	 * tracepoints where that cannot be (programs_attach_calls): with links that all share, and
	 * with `both` at the exact depth.
	 */
	bool watch_code;
	/*
	 * What processes map for themselves is counted, and what brk moves, without allocations.
	 * Those of the host or cgroup that are not named are seen when they map so many bytes at
	 * once; 0: they are not.
	 */
	bool mappings;
	uint64_t adopt_bytes;
	bool many_stacks; /* of jobs or of mappings, beside those of calls */
	bool floor;	  /* probes with empty programs: nothing is counted */
	/*
	 * Threads are stopped before they execute a program, and before named functions, as live_
	 * take_checkpoint tells. Processes must be held.
	 */
	bool checkpoints;
	bool unwind; /* user stacks by call frame information, else by frame pointers */
	/*
	 * With `unwind`: stacks begin where code is interrupted, in processes that were named, so
	 * that all files have their rows for that from the start.
	 */
	bool full_rows;
	struct target_rule rule; /* whose system calls, tracepoints and allocations are counted */
	/*
	 * A process counts only as long as this user may look at it: bpf/access.bpf.h. Children
	 * must not be followed.
	 */
	struct abi_access access;
};

/* That, what this kernel has for it, and what follows for this object. */
struct programs_opts {
	struct run_opts run; /* its rule and adopt_bytes as the programs are to follow them */
	bool exit_by_multi;  /* ATTACH_PATH_EXIT: by uprobe-multi links, else by perf events */
	bool hold_cpu;	     /* FEATURE_HOLD_CPU */
	bool find_vma;	     /* FEATURE_FIND_VMA */
	bool whole_life;     /* no allocation of a process is before its tracing */
	uint32_t max_procs;
	/*
	 * What counts calls is loaded by programs_load_calls(), if it comes to be needed. The first
	 * run since the boot loads it at once: then it is known that this kernel lets it in.
	 */
	bool calls_later;
	/* Who has no slot gets one by a mapping of adopt_bytes, if it is of this scope. */
	enum abi_scope adopt_scope;
	/* The two arguments of memtraced:book, on_book; borrowed; NULL: it is not probed. */
	const struct abi_usdt_arg *book_args;
};

#endif
