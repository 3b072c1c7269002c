/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A leak check of one stopped process: its blocks, and what became of each. Holds all that is
 * needed of the process, which may run on, or be gone, afterwards. One thread.
 */
#ifndef MEMTRACED_ANALYZE_LEAK_SCAN_H
#define MEMTRACED_ANALYZE_LEAK_SCAN_H

#include "analyze/process_roots.h"
#include "analyze/reach.h"
#include "base/cleanup.h"
#include "trace/live/cuts/live_blocks.h"
#include "trace/record/image.h"

#include <sys/types.h>

struct stop;

/*
 * Blocks whose addresses their allocator may have left in its own data (apart), or in other blocks
 * (inside), and its name (static storage); NULL: there are none.
 */
struct leak_noted {
	const char *by;
	size_t blocks;
};

/* How much of a process a check has seen, and at what cost: what its reports say as well. */
struct leak_seen {
	pid_t pid;
	image_t image;
	struct reach_stats stats;
	uint64_t stopped_ns;	/* for how long, until the scan was done */
	size_t running_threads; /* that could not be stopped */
	size_t kept_blocks;	/* left out: glibc's own, of threads that have ended */
	uint64_t kept_bytes;
	size_t pool_blocks;  /* left out: they hold blocks of the program's own pools */
	bool unknown_blocks; /* there may be others, from before the process was traced */
	bool older_blocks;   /* those from before are among them, all or not */
	bool has_allocator;  /* a file that the process has mapped has one */
	struct leak_noted noted_apart, noted_inside;
};

struct leak_scan {
	struct leak_seen seen;
	struct live_block *blocks; /* ascending by address */
	struct reach_verdict *verdicts;
	size_t n_blocks;
	uint64_t time_ns; /* CLOCK_MONOTONIC when the process was stopped */
};

struct leak_scan_opts {
	pid_t pid;
	image_t image;
	bool older_blocks;		 /* as of leak_seen */
	uint32_t heuristics;		 /* as of reach_opts */
	uint64_t max_stop_ns;		 /* then the scan ends as it is: stats.end */
	struct process_roots_opts roots; /* but for its blocks and its deadline */
};

/*
 * Takes the blocks over (malloc'ed), also when it fails. 0; -ETIME: max_stop_ns was over before
 * anything was looked through; -ENOMEM; or what reading the process failed with: -ESRCH when it was
 * killed meanwhile.
 */
int leak_scan_new(const struct leak_scan_opts *opts, const struct stop *stop,
		  struct live_block *blocks, size_t n_blocks, struct leak_scan **ret_scan);
void leak_scan_free(struct leak_scan *scan); /* NULL is legal */
DEFINE_CLEANUP(struct leak_scan, leak_scan_free)

#endif
