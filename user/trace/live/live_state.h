/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the live source: its state, shared by the files of trace/live/ alone.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_STATE_H
#define MEMTRACED_TRACE_LIVE_LIVE_STATE_H

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/ranges.h"
#include "base/vec.h"
#include "bpf/abi_event.h"
#include "bpf/abi_syscalls.h"
#include "bpf/abi_unwind.h"
#include "target/proc_maps.h"
#include "trace/live/code/code_times.h"
#include "trace/live/code/objects.h"
#include "trace/live/cuts/live_rss_peak.h"
#include "trace/live/cuts/live_usage.h"
#include "trace/live/live.h"
#include "trace/live/slots/slot_quarantine.h"
#include "trace/unwind/stack_check.h"

#include <bpf/libbpf.h>

/* Function ids of the mmap class; trace/live/code/object_files.c numbers the others. */
#define FUNCTION_MMAP 1
#define FUNCTION_MREMAP 2
#define FUNCTION_BRK 5 /* 3, 4: RECORD_BEFORE_ATTACH, ABI_FN_SAMPLED */

/* Losses that only user space can see; those of enum abi_loss come before. */
enum user_loss {
	LOSS_ATTACHED_LATE = ABI_LOSSES, /* code ran before its allocator was probed */
	LOSS_MAPPING,			 /* a mapping whose file could not be found out */
	LOSS_STATE,			 /* an event of a process that is not known */
	LOSS_NOT_RUN,			 /* a program was left out: another ran on that CPU */
	LOSS_FLOOR,			 /* everything: the programs were empty */
	LOSS_UNWIND_TABLES,  /* no room for a file's rows or a process's mappings: stacks are cut */
	LOSS_ANCESTORS,	     /* an inheritance over too many forks was given up */
	LOSS_BEFORE_UNREAD,  /* --existing: blocks of before that may not be among those found */
	LOSS_BEFORE_NO_ROOM, /* such a block, and the table was full */
	LOSS_SHARED_MEMORY,  /* a child in its parent's memory that no link of the parent sees */
	LOSS_NO_ALLOCATOR,   /* an image whose calls of its allocator nobody sees */
	LOSS_BUDGET,	     /* milliseconds that it was not traced, for its budget was used up */
	LOSS_FILE_UNREAD,    /* a file's probes: who parses it died of it, or was not there */
	LOSS_ROWS_UNREAD,    /* a file's unwind rows, in the same way: stacks are cut */
	LOSS_CPU_AWAY,	     /* times that a CPU may not have been sampled: off, or asleep before */
	LOSS_FILE_UNOPENED,  /* a file that could not be opened without waiting for others */
	LOSS_CUT,	     /* of this cut: programs in progress were not waited for */
	LOSSES
};

/* Why a stack is not whole, beside enum abi_stack_cut. */
enum stack_cut {
	STACK_CUT_FRAME_POINTERS = ABI_CUTS, /* they ended where no stack is known to begin */
	STACK_CUT_LOST,			     /* it never came */
	/* Code that had gone, or may have come later, when it was read which it is: nameless. */
	STACK_CUT_GONE,
	STACK_CUT_GENERATED, /* code that a run-time has made: no file has information about it */
	STACK_CUTS
};

struct pending_unmap {
	uint32_t tid;
	uint64_t start, end;
};

struct code_range {
	uint64_t start, end, offset;
	struct object *object; /* NULL: not a file */
	/* NULL: it could be opened, or never will be (objects.h) */
	const struct unopened_file *unopened;
	bool vdso;
};

/* A file's code that a reading has found; from since_ns on, if nothing told of a change. */
struct code_news {
	struct proc_map map;
	char *path; /* the map's */
	struct object *object;
	uint64_t since_ns;
};

/* A stack with frames in such code, for which it may have come too late. */
struct doubted_stack {
	uint64_t id, time_ns;
};

/* A process image: one slot. */
struct live_process {
	uint32_t slot;	     /* may be another's when this one is over and forgotten */
	uint32_t image;	     /* its number in records: no other has it */
	uint32_t prev_image; /* the image that exec replaced, RECORD_NO_SLOT */
	pid_t pid;
	bool root;
	bool placeholder;  /* not reported: the child of -c before its exec, or not wanted */
	bool older_blocks; /* it may hold blocks from before it was traced */
	bool exe_known;	   /* the executable was probed, if need be, when it began */
	bool unwanted;	   /* only followed, as what it forks is */
	bool translator;   /* it runs translated code, and is not probed */
	bool alone;	   /* its executable has no allocator, and has none loaded */
	bool unseen;	   /* LOSS_NO_ALLOCATOR was counted for it */
	enum record_depth depth;
	bool ended;
	bool settled;	    /* ended, and its last values handed over */
	bool own_links;	    /* cookies of links know it by its slot */
	uint64_t shared_ns; /* since when shared links count for it instead; 0: none were its own */
	bool counts_read;   /* the same of the jobs: it had ended before the last cut, */
	bool counts_purged; /* and its entries are deleted */
	bool has_before;    /* what it held before the attach was read: */
	bool all_before;    /* and nothing was left unread or doubtful */
	uint64_t before_blocks, before_unread;
	uint32_t end_tick;
	uint32_t peak_epoch; /* when it was last looked at, */
	uint64_t peak_ns;    /* and when it was new; 0: never */
	struct live_rss_peak rss_peak;
	char comm[16];
	VEC(struct code_range) code;
	/* Stacks with frames in memory that may be code (trace/live/stacks/live_code.c). */
	VEC(struct abi_ev_stack *) waiting;
	VEC(uint64_t) stacks;	     /* ids of those that it was the first to have */
	uint64_t read_code_after_ns; /* when the list of code may be read again */
	bool code_changed;	     /* what is in it may have gone */
	uint32_t code_epoch;	     /* of what was read, where it is told of by its pages */
	/* What the last reading has shown and is not recorded yet (trace/live/code/live_news.c). */
	struct code_times code_times;
	VEC(struct code_range) gone;
	VEC(struct code_news) news;
	VEC(struct doubted_stack) doubted;
	/* Range that a munmap or mremap in flight has taken out of the regions, by thread. */
	VEC(struct pending_unmap) pending;
	struct ranges areas;	    /* mapped by its allocators for themselves */
	struct unwind_space *space; /* NULL: ended, or stacks are not unwound by tables */
	struct live_death *death;   /* NULL: nobody kills it */
	struct live_usage_clock usage_clock;
	bool has_usage; /* it is one of those whose use is read where nothing else is sampled */
};

/* Sums over the sites of processes. */
struct cut_coverage {
	uint64_t events, stacks_complete, stacks_guided;
	uint64_t cuts[STACK_CUTS]; /* truncated ones; [ABI_CUT_NONE] stays 0 */
};

/* --check-stacks: what came of the stacks so far. */
struct live_check {
	struct stack_check *check; /* NULL: not asked for */
	uint64_t results[CHECK_RESULTS];
	uint64_t truncated[STACK_CUTS]; /* by cause */
	unsigned int differences;	/* handed over in full */
};

struct live {
	struct source source;
	struct live_opts opts;
	struct programs *programs;
	struct custom_allocators *custom; /* functions that the user has named */
	struct objects *objects;
	struct unwind_tables *tables; /* NULL: stacks are walked by frame pointers */
	struct ring_buffer *ring;
	struct live_buffer *buffer;
	struct live_usage *usage;
	size_t next_share; /* the slot whose proportional share is the next to be read */
	int tracepoints[PROGRAMS_MAX_TRACEPOINTS];
	size_t n_tracepoints;
	int calls[PROGRAMS_MAX_TRACEPOINTS]; /* of system calls, while the depth wants them */
	size_t n_calls;
	bool unknown_loader;	/* some process has a dynamic linker whose stop is not known */
	int tracefs_fd;		/* for jobs; -1: there are none */
	VEC(struct job *) jobs; /* their index is their id */
	struct job *syscalls;	/* that one of them; NULL: not asked for */
	bool kernel_stacks;	/* a job takes them */
	bool kernel_code;	/* may be on stacks */
	VEC(struct live_process *) processes; /* by slot; NULL where a slot is unused */
	uint32_t next_image;		      /* for a slot that is used again */
	struct slot_quarantine quarantine;
	uint64_t close_files_ns;		   /* those that nothing uses are closed then */
	VEC(struct live_file) closed_files;	   /* live_take_closed */
	size_t n_events;			   /* jobs that count by images, ended ones too */
	uint64_t forgotten_lost;		   /* lost events of images that are forgotten */
	VEC(struct abi_ev_checkpoint) checkpoints; /* threads that are stopped there */
	VEC(pid_t) marks;			   /* threads that wait for a drain */
	VEC(uint32_t) waiting;			/* slots with waiting stacks, each once or more */
	VEC(uint32_t) unsettled;		/* slots with news of code, each once or more */
	VEC(struct abi_ev_stack *) unannounced; /* stacks of slots that no event has told of yet */
	size_t n_unannounced_before;		/* of these, at the end of the drain before */
	struct hashmap *stacks;			/* struct live_stack: which are complete */
	uint64_t losses[LOSSES - ABI_LOSSES];
	struct cut_coverage running, settled; /* of the last cut; of all settled processes */
	uint64_t start_ns;
	int64_t start_asleep_ns;	     /* how long the machine had slept by then */
	uint32_t mark_tick;		     /* blocks from then on are young; 0: all are */
	uint64_t settled_ns, settle_took_ns; /* end of the last settling, and its time */
	size_t own_forks;		     /* children born before links were shared */
	uint64_t shared_ns;		     /* since when they are; UINT64_MAX: they are not */
	uint64_t share_after_ns;	     /* a translator was seen: not before then */
	bool translator_told;		     /* of one that keeps links from being shared */
	bool run_described;
	bool any_traced; /* some process met the rule */
	enum record_depth depth;
	bool cut_torn;	/* LOSS_CUT */
	bool cut_begun; /* the next cut is of an earlier moment: live_begin_cut */
	struct live_check check;
	/* where records go during a drain */
	record_fn fn;
	void *userdata;
	int error; /* first failure inside a ring callback */
};

struct live_stack {
	uint64_t id;
	uint8_t cut;	     /* enum stack_cut or abi_stack_cut; ABI_CUT_NONE: complete */
	bool frame_pointers; /* followed for want of call frame information */
};

#endif
