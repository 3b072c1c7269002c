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
#include "bpf/abi_book.h"
#include "bpf/abi_event.h"
#include "bpf/abi_syscalls.h"
#include "probe/book_probe.h"
#include "target/proc_maps.h"
#include "trace/live/code/code_map.h"
#include "trace/live/code/objects.h"
#include "trace/live/code/stack_index.h"
#include "trace/live/cuts/live_usage.h"
#include "trace/live/live.h"
#include "trace/live/slots/slot.h"
#include "trace/unwind/stack_check.h"

#include <bpf/libbpf.h>
#include <pthread.h>

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
	LOSS_NO_ALLOCATOR,   /* an image whose calls of its allocator are not seen */
	LOSS_BUDGET,	     /* milliseconds that it was not traced, for its budget was used up */
	LOSS_FILE_UNREAD,    /* a file's probes: who parses it died of it, or was not there */
	LOSS_ROWS_UNREAD,    /* a file's unwind rows, in the same way: stacks are cut */
	LOSS_CPU_AWAY,	     /* times that a CPU may not have been sampled: off, or asleep before */
	LOSS_FILE_UNOPENED,  /* a file that could not be opened without waiting for others */
	LOSS_CODE_START,     /* ABI_LOST_CODE_START, of what was mapped before it was read */
	LOSS_SITE_ROOM,	     /* at a cut: stacks that are in [other stacks], so many at most */
	LOSS_CUT,	     /* of this cut: programs in progress were not waited for */
	LOSS_BOOK,	     /* a book that could not be read, or has more than is kept of one */
	LOSS_BOOK_CEASED,    /* a process that has taken us for gone */
	LOSS_FAULT,	     /* a crash, whose block was not looked for, or not to the end */
	LOSS_UNREAD,	     /* a process that is not traced, as it could not be read in time */
	LOSS_BOOK_FIRST, /* what processes could not enter into their books: enum abi_book_loss */
	LOSS_BOOK_LAST = LOSS_BOOK_FIRST + ABI_BOOK_LOSSES - 1,
	LOSSES
};

struct book;

struct pending_unmap {
	uint32_t tid;
	uint64_t start, end;
};

/* A file's code that a reading has found; from since_ns on, if nothing told of a change. */
struct code_added {
	struct proc_map map;
	char *path; /* the map's */
	struct object *object;
	uint64_t since_ns;
};

/* A stack with frames in such code, for which it may have come too late. */
struct doubted_stack {
	uint64_t id, time_ns;
};

/* Does a process keep a book of its calls, in place of links? */
enum links_book {
	LINKS_NO_BOOK,
	LINKS_BOOK_POSSIBLE, /* it has loaded nothing yet, and our library comes first */
	LINKS_BOOK_EXPECTED, /* it has our library mapped */
	LINKS_BY_BOOK,	     /* it is counted so */
};

/* What decides by which links a process is counted: probes/live_links.c. */
struct process_links {
	bool translator;    /* it runs translated code, and is not probed */
	bool own;	    /* cookies of links know it by its slot */
	bool unseen;	    /* LOSS_NO_ALLOCATOR was counted for it */
	bool without_first; /* its first thread has ended: only shared links can count it */
	uint64_t shared_ns; /* since when shared links count for it instead; 0: none were its own */
	enum links_book book;
};

/* The book that it keeps, and what was read of it: books/live_books.c. */
struct process_book {
	struct book *book; /* NULL: it keeps none, or has not said so yet */
	bool found;	   /* it was kept before the process was traced */
	bool told_ceased;  /* LOSS_BOOK_CEASED */
	uint64_t told_lost[ABI_BOOK_LOSSES];
	uint64_t further_errors;  /* book_totals.further_errors */
	uint64_t told_frees_lost; /* live_book_frees_lost() */
	uint64_t told_left_out;	  /* live_book_count_left_out() */
	bool told_inherited;
	bool parent_was_empty; /* it was forked before its parent had a book */
	bool has_era;	       /* its abi_proc.parent_era is as books have it */
	uint32_t first_era;    /* forks before the book began, which has no numbers for them */
	uint32_t told_tick;
	uint32_t earlier; /* forks of which another reader was told, and who may look up blocks; */
	uint32_t forks;	  /* children that were told of since, */
	uint32_t era;	  /* and those that its book knows; */
	uint32_t agreed;  /* so many have the same numbers there and in the programs */
	uint32_t told_ended; /* of which so many are over, as it was told */
	uint32_t calls;	     /* book_totals.calls */
	bool outlived;	     /* children go on in its memory: what they do is lost, but for */
	uint64_t counted;    /* these calls, of before it was settled */
};

/* What it held before it was traced: lifecycle/live_existing.c. */
struct process_before {
	bool was_read; /* what it held, */
	bool all;      /* and nothing was left unread or doubtful */
	uint64_t blocks, unread_bytes;
};

/* When it had its peak: slots/live_epoch.c. */
struct process_peak {
	uint32_t epoch; /* when it was last looked at, */
	uint64_t ns;	/* and when it was new; 0: never */
};

/* What jobs have counted of it: live_jobs.c. */
struct process_counts {
	bool read;   /* it had ended before the last cut, */
	bool purged; /* and its entries are deleted */
};

/* Stacks with frames in memory that may be code: stacks/live_waiting.c. */
struct process_waiting {
	VEC(struct abi_ev_stack *) stacks;
	uint64_t read_code_after_ns; /* when the list of code may be read again */
	bool code_changed;	     /* what is in it may have gone */
};

/* What the last reading has shown and is not recorded yet: code/live_changes.c. */
struct process_changes {
	VEC(struct code_added) added;
	VEC(struct code_range) removed;
	VEC(struct doubted_stack) doubted;
};

/* The mmap class: regions/live_regions.c. */
struct process_regions {
	/* Range that a munmap or mremap in flight has taken out of the regions, by thread. */
	VEC(struct pending_unmap) pending;
	struct ranges areas; /* mapped by its allocators for themselves */
};

/* Beside counts, what the kernel says of it: cuts/live_sample.c. */
struct process_usage {
	struct live_usage_clock clock;
	bool is_read; /* it is one of those whose use is read where nothing else is sampled */
};

/*
 * A process image: one slot. Each field is written by one file (scripts/check-writers), what has
 * no other named by slots/live_slots.c. It is freed by live_maintain() and by cuts alone, a while
 * after its end: pointers to it are not held across these (live_pin).
 */
struct live_process {
	slot_t slot; /* may be another's when this one is over and forgotten */
	image_t image;
	image_t prev_image; /* the one that it replaced; RECORD_NO_IMAGE: none */
	pid_t pid;
	bool root;
	bool placeholder;   /* not reported: the child of -c before its exec, or not wanted */
	bool older_blocks;  /* it may hold blocks from before it was traced */
	bool exe_known;	    /* the executable was probed, if need be, when it began */
	bool unwanted;	    /* only followed, as what it forks is */
	bool alone;	    /* its executable has no allocator, and has none loaded */
	uint64_t execed_ns; /* 0: before the attach, or it is a fork's */
	uint64_t forked_ns; /* of a fork's: since then it has what it inherited; else 0 */
	uint64_t mapped_ns; /* from when on code is known that was there then; 0: a fork's */
	/* Children that run in its memory, which may go on when it has ended: live_follow.c. */
	uint32_t n_in_memory;
	enum record_depth depth;
	bool ended;
	bool settled; /* ended, and its last values handed over */
	uint64_t end_ns;
	char comm[16];
	struct process_links links;
	struct process_book book;
	struct hashmap book_stacks; /* books/book_stacks.c: of nodes that were read */
	/* Sites that have [other stacks]: in the latest reading, and told of. */
	uint64_t stacks_left_out, told_stacks_left_out;
	struct process_before before;
	struct process_peak peak;
	struct process_counts counts;
	struct live_rss_peak rss_peak;
	struct code_map code;
	struct code_times code_times;
	uint32_t code_epoch; /* code/live_code.c: of what was read (shared_code_epoch) */
	struct process_changes changes;
	struct unwind_space *space; /* code/live_unwind.c; NULL: ended, or not unwound by tables */
	struct process_waiting waiting;
	VEC(uint64_t) stacks; /* stacks/live_stacks.c: ids of those that it was the first to have */
	uint64_t frames;      /* of these */
	struct process_regions regions;
	struct live_death *death; /* lifecycle/live_death.c; NULL: no kill was seen */
	struct process_usage usage;
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

/* Processes by their slots: slots/live_slots.c. */
struct live_slots {
	VEC(struct live_process *) all; /* by slot; NULL where a slot is unused */
	uint32_t next_image;		/* for a slot that is used again */
	struct slot_quarantine quarantine;
	unsigned int pins;	 /* pointers to processes are held so many times: live_pin() */
	uint64_t forgotten_lost; /* lost events of images that are forgotten */
	uint64_t losses[LOSSES - ABI_LOSSES];
};

/* By which links processes are counted: probes/live_links.c. */
struct live_links {
	int calls[PROGRAMS_MAX_TRACEPOINTS]; /* of system calls, while the depth wants them */
	size_t n_calls;
	int signals;		 /* programs_attach_signals(); -1: none */
	bool unknown_loader;	 /* some process has a dynamic linker whose stop is not known */
	size_t own_forks;	 /* children born before links were shared */
	uint64_t shared_ns;	 /* since when they are; UINT64_MAX: they are not */
	uint64_t share_after_ns; /* a translator was seen: not before then */
	bool translator_told;	 /* of one that keeps links from being shared */
	bool unread_told;	 /* of a process that may be one */
	bool awaits_shared;	 /* a process that only they can count has links of its own */
};

/* Our library, and the probe by which it tells of books: books/library_probe.c. */
struct live_library {
	int fd;	       /* -1: processes keep none */
	int link_fd;   /* negative: it is not probed */
	bool attaches; /* the thread `attacher` does that, */
	pthread_t attacher;
	const struct programs *programs; /* and knows nothing else */
	struct book_probe probe;
};

/* Of all books: books/live_books.c. */
struct live_books {
	uint16_t first_fn; /* id of function 0 of enum abi_book_function; 0: none was told of */
	uint64_t calls;	   /* that were entered in any */
	uint64_t paid_ns;  /* for searches of processes that have one mapped: base/clock.h */
};

/* Jobs beside allocations: live_jobs.c. */
struct live_jobs {
	int tracefs_fd;	       /* -1: there are none */
	VEC(struct job *) all; /* their index is their id */
	struct job *syscalls;  /* that one of them; NULL: not asked for */
	bool kernel_stacks;    /* a job takes them */
	bool kernel_code;      /* may be on stacks */
	size_t n_events;       /* jobs that count by images, ended ones too */
};

/* Threads that are stopped: live_drain.c. */
struct live_held {
	VEC(struct abi_ev_checkpoint) checkpoints; /* at functions */
	VEC(pid_t) marks;			   /* that wait for a drain */
};

/* Stacks that wait: stacks/live_waiting.c. */
struct live_waiting {
	VEC(slot_t) slots;			/* with waiting stacks, each once or more */
	VEC(struct abi_ev_stack *) unannounced; /* of slots that no event has told of yet */
	size_t n_unannounced_before;		/* of these, at the end of the drain before */
};

/* Regions, counted as they come: regions/live_regions.c. */
struct live_mapped {
	struct cut_coverage counts;
	VEC(uint64_t) waiting; /* stacks of regions whose stack waits */
};

/* Files that nothing uses: code/live_code.c. */
struct live_closed {
	uint64_t next_ns; /* they are closed then */
	VEC(struct live_file) files;
};

/* Of which no event has told: lifecycle/live_follow.c. */
struct live_untold {
	uint64_t n_refused; /* events that the ring had refused at the last drain */
	VEC(image_t) images;
};

/* What cuts have counted: cuts/live_cut.c. */
struct live_cuts {
	struct cut_coverage running, settled; /* of the last cut; of all settled processes */
	bool torn;			      /* LOSS_CUT */
	bool begun;	  /* the next cut is of an earlier moment: live_begin_cut */
	uint64_t time_ns; /* of the last cut */
};

/* Settling, as it takes time: live_drain.c. */
struct live_settling {
	uint64_t ended_ns, took_ns; /* of the last one */
};

/* Where records go during a drain: live_source.c. */
struct live_sink {
	record_fn fn;
	void *userdata;
	bool run_described;
};

/* Each field is written by one file (scripts/check-writers), beside live_new.c, which makes it. */
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
	int tracepoints[PROGRAMS_MAX_TRACEPOINTS];
	size_t n_tracepoints;
	uint64_t start_ns;
	int64_t start_asleep_ns; /* how long the machine had slept by then */
	struct live_slots slots;
	struct live_links links;
	struct live_library library;
	struct live_books books;
	struct live_jobs jobs;
	struct live_held held;
	struct live_waiting waiting;
	struct live_closed closed;
	/* code/live_changes.c: slots with changes that are not recorded yet, each once or more */
	VEC(slot_t) unsettled;
	struct stack_index *stacks;
	struct live_mapped mapped;
	struct live_untold untold;
	struct live_cuts cuts;
	struct live_settling settling;
	size_t next_share;  /* cuts/live_sample.c: the slot whose proportional share is read next */
	uint32_t mark_tick; /* slots/live_epoch.c: blocks from then on are young; 0: all are */
	uint64_t tick_ns;   /* slots/live_epoch.c: when the last tick was told, */
	uint64_t latest_tick_ns; /* and the longest time between two */
	bool any_traced;	 /* lifecycle/live_follow.c: some process met the rule */
	VEC(pid_t) unread;	 /* live_targets.c: LOSS_UNREAD was counted for these */
	enum record_depth depth; /* lifecycle/live_depth.c */
	struct live_check check; /* stacks/live_check.c */
	uint64_t faults_paid_ns; /* cuts/live_fault.c: base/clock.h */
	struct live_sink sink;
	int error; /* live_drain.c: first failure inside a ring callback */
};

#endif
