/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF object is to do: by it programs are chosen and map sizes set.
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

struct programs_opts {
	enum attach_path path;
	bool exit_by_multi; /* ATTACH_PATH_EXIT: by uprobe-multi links, else by perf events */
	bool hold_cpu;	    /* FEATURE_HOLD_CPU */
	bool find_vma;	    /* FEATURE_FIND_VMA */
	bool follow;
	bool no_exec;	  /* what is executed is not traced, but for the command */
	bool whole_life;  /* no allocation of a process is before its tracing */
	bool heap_errors; /* where blocks are freed is remembered */
	bool free_stacks; /* and counted by site */
	bool lifetimes;	  /* of blocks are measured by CLOCK_MONOTONIC */
	uint32_t max_procs;
	struct map_room room;
	struct abi_block_filter block_filter;
	uint32_t max_stack; /* callers kept of a stack */
	uint32_t check_stacks;
	bool allocations; /* else only what jobs need: */
	bool sampled;	  /* those that processes show: bpf/abi_sample.h */
	bool both;	  /* with `sampled`: calls as well, each image is of one kind */
	/*
	 * What counts calls is loaded by programs_load_calls(), if it comes to be needed. The first
	 * run since the boot loads it at once: then it is known that this kernel lets it in.
	 */
	bool calls_later;
	bool code; /* mappings of executable files are reported, */
	/*
	 * Or that they have changed, by samples and, with `sampled`, by what dynamic linkers call
	 * (on_loader): tracepoints of system calls cost all processes. For what these cannot tell
	 * of they are loaded as well, if `sampled`: programs_attach_calls().
	 */
	bool watch_code;
	/*
	 * All anonymous mappings are, and what brk moves; not with `allocations`. Who has no slot
	 * gets one by a mapping of so many bytes, if it is of this scope; 0: it gets none.
	 */
	bool mappings;
	uint64_t adopt_bytes;
	enum abi_scope adopt_scope;
	bool floor;	  /* empty programs in the probes: nothing is counted */
	bool checkpoints; /* on_checkpoint is wanted */
	bool unwind;	  /* user stacks by call frame information: trace/unwind/unwind_tables.h */
	bool full_rows; /* with that: of large files, too, from the start; there is room for one */
	/* The two arguments of memtraced:book, on_book; borrowed; NULL: it is not probed. */
	const struct abi_usdt_arg *book_args;
	struct target_rule rule;
	struct abi_access access; /* on whose behalf; jobs have the same */
};

#endif
