/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a consistent state: totals, sites, what was lost. Part of record.h, whose rules
 * apply: borrowed pointers, CLOCK_MONOTONIC nanoseconds.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_CUT_H
#define MEMTRACED_TRACE_RECORD_RECORD_CUT_H

#include "trace/record/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_cut {
	uint64_t time_ns;
	uint64_t slept_ns; /* for how long the machine was asleep since the start of the run */
};

struct record_totals {
	image_t image;
	const char *comm; /* as it is now; NULL: unchanged */
	uint64_t allocs, frees, failed, bytes;
	int64_t live_bytes, live_blocks;
	int64_t peak_bytes;
	uint64_t peak_error_bytes; /* 0: the sites' shares of the peak are exact */
	uint64_t temporary, missed_frees, unknown_frees;
	uint64_t lost;		 /* events of this process that were lost; exact only while 0 */
	uint64_t further_errors; /* heap errors beyond those that have records, each time counted */
	uint64_t peak_ns; /* when the peak was there first, late by a sample at most; 0: unknown */
	int64_t inherited_bytes, inherited_blocks; /* by a fork, of what live_* began with */
	/* Of what is live, the blocks from before the attach: usable sizes, not those asked for. */
	bool has_before; /* they were looked for, in it or in the process that it was forked from */
	int64_t before_bytes, before_blocks;
	uint64_t before_unread; /* bytes of the heap then that were not made out */
	/* Of samples: the figures are estimates, and one sample stands for so many bytes. */
	uint64_t sample_interval; /* 0: there are none */
	uint64_t sample_shown;	  /* the process's own, less where there was no room for all */
	uint64_t blocks_variance; /* of the estimate live_blocks */
	uint64_t allocs_variance, frees_variance;
	uint64_t se_live_bytes, se_bytes; /* their standard errors */
	uint64_t samples, live_samples;	  /* 0 beside bytes: of an older version, not known */
	/* For how many blocks beyond itself one live sample stands at most, and one of all. */
	uint64_t live_beyond, most_beyond;
	/* The most that was resident since the image began, by the kernel's mark; 0: not known. */
	uint64_t peak_rss_bytes;
	bool peak_rss_is_least; /* the mark at its end is not known, it may have been more */
	bool by_library;	/* it kept a book, and was not probed: record_run.counted_by */
	/*
	 * Sites have the sum of their blocks' lifetimes, each true to so many ns: until their free,
	 * the end of the process, or the cut; inherited ones from the fork on. 0: not known.
	 */
	uint64_t lifetime_resolution_ns;
};

/* The numbers are those in recordings. */
enum record_heap_error_kind {
	RECORD_INVALID_FREE = 1, /* of what is no live block, and no block that was */
	RECORD_DOUBLE_FREE,
	RECORD_MISMATCHED_FREE,	  /* of malloc's block by operator delete, and the like */
	RECORD_FOREIGN_FREE,	  /* by another allocator than the block's */
	RECORD_FAILED_ALLOCATION, /* there was no memory */
	RECORD_SUSPICIOUS_SIZE,	  /* below 0 when it is taken as signed; it failed, too */
	RECORD_REALLOC_ZERO,	  /* realloc(p, 0), which each allocator takes in its own way */
	RECORD_HEAP_ERRORS
};

/* A block's address of 0: none is known; a stack of 0 with a function of 0: not known. */
struct record_heap_error {
	image_t image;
	enum record_heap_error_kind kind;
	uint16_t fn; /* that was called */
	uint64_t stack;
	uint64_t count; /* with this stack; what follows is of the first time */
	uint64_t time_ns;
	uint64_t addr;		    /* that was passed; 0 for allocations */
	uint64_t size;		    /* that was asked for; 0 for frees */
	uint64_t block, block_size; /* the one that addr is in, or was */
	uint16_t block_fn;	    /* which made it, */
	uint64_t block_stack;	    /* and where */
	uint16_t freed_fn;	    /* the same of its first free */
	uint64_t freed_stack;
	uint32_t tid; /* by which thread; 0: not known */
};

/*
 * Blocks of a site that were freed at one place, by --free-stacks. Lifetimes by powers of two: 0
 * counts those below 1 << RECORD_LIFETIME_SHIFT ns, n those below twice as much as n - 1 does, the
 * last all others.
 */
#define RECORD_LIFETIMES 32
#define RECORD_LIFETIME_SHIFT 12

struct record_free_pair {
	image_t image; /* who freed them */
	uint16_t fn;   /* that allocated them, as in record_site */
	uint64_t stack;
	uint16_t free_fn;
	uint64_t free_stack;
	uint64_t count, bytes;
	uint64_t others;  /* by another thread than allocated them */
	uint64_t unknown; /* of these neither thread nor lifetime is known */
	uint64_t total_ns;
	uint64_t lifetimes[RECORD_LIFETIMES];
};

/* Equal parts of the time from the start of the run to the cut, or to the end of the process. */
#define RECORD_BIRTHS 8

struct record_site {
	image_t image;
	uint16_t fn;	/* function id; 0 unknown */
	uint64_t stack; /* stack id */
	int64_t live_bytes, live_blocks;
	uint64_t allocs, bytes, temporary;
	int64_t peak_bytes;
	uint64_t oldest_ns, newest_ns; /* ages of its live blocks at the cut; UINT64_MAX unknown */
	int64_t inherited_bytes;       /* by a fork, part of what live_bytes began with */
	uint64_t born_bytes[RECORD_BIRTHS]; /* live ones by their birth; all 0: not known */
	/* Of live ones, those from the latest mark on, or all: as blocks said a moment later. */
	int64_t young_bytes, young_blocks;
	uint64_t blocks_variance, allocs_variance; /* of samples: of live_blocks and allocs */
	uint64_t se_live_bytes, se_bytes, samples, live_samples; /* as in record_totals, */
	uint64_t live_beyond, most_beyond;			 /* and these */
	/* Blocks at the peak, how long all lived: known where totals.lifetime_resolution_ns is. */
	int64_t peak_blocks;
	uint64_t lifetime_ns;
};

/*
 * What of a process was in memory at a moment while it ran, bytes. The uses add up to rss, but for
 * what moved.
 */
struct record_resident {
	image_t image;
	uint64_t time_ns;
	uint64_t rss, pss, swap, page_tables; /* page tables are no part of rss, nor is swap */
	uint64_t heap_live, heap_free;	      /* of the allocators' pages: in blocks, and not */
	uint64_t mmap, file, stack, unknown;
	uint64_t unknown_heap; /* of unknown: in allocators' pages */
	uint64_t moved;	       /* what came and went while it was read: the uses are true to it */
	bool all_blocks;       /* false: some are older than the attach, heap_free is not known */
	/* Address space, not memory: of the regions that are known, and of these without access. */
	uint64_t mapped, inaccessible;
	bool only_mapped; /* nothing but these two was looked at */
};

struct record_loss {
	const char *cause; /* "block-map-full" */
	uint64_t count;
};

/* Losses of stacks and names leave totals true, and so does an early end: as of then. */
bool record_loss_spares_totals(const char *cause);

/* The cause of a loss when nothing was counted on purpose (--floor): there are no totals then. */
#define RECORD_CAUSE_FLOOR "nothing-counted"
/* --existing could not make out all, or anything, of what a process held before the attach. */
#define RECORD_CAUSE_BEFORE_UNREAD "before-attach-unread"
/* Of stacks: RECORD_STACK_OTHER stands for them. */
#define RECORD_CAUSE_STACK_ROOM "process-stacks-full"
#define RECORD_CAUSE_BOOK_STACKS "book-stacks-full"
/* The cause when a recording has no end: all is as of its latest cut. */
#define RECORD_CAUSE_CUT_OFF "recording-cut-off"
/* Of names: the files could not be read (RECORD_SYMBOLS_UNREAD). Added by views. */
#define RECORD_CAUSE_UNREAD "symbols-unread"
/* Of addresses in code: SYMBOLS_OTHER_NAME stands for them. Added by views. */
#define RECORD_CAUSE_PLACES "code-places-full"
/* Of regions: the process has more than are kept of one (model_limit_regions). Added by views. */
#define RECORD_CAUSE_REGIONS "process-mappings-full"

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

/* It is a run of empty programs: RECORD_CAUSE_FLOOR. */
bool record_counted_nothing(const struct record_coverage *coverage);

struct record_stack_check {
	size_t n_results;
	const struct record_loss *results; /* "identical", "different", ...; those with count > 0 */
};

struct record_stack_differs {
	image_t image;
	bool whole;		      /* ours passes for that */
	const char *ours, *reference; /* a frame a line, innermost first: "/path/of/object+0x1f" */
};

#endif
