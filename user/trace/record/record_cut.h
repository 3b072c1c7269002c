/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a consistent state: totals, sites, what was lost. Part of record.h, whose rules
 * apply: borrowed pointers, CLOCK_MONOTONIC nanoseconds.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_CUT_H
#define MEMTRACED_TRACE_RECORD_RECORD_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
