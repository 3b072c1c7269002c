/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be reached from roots: marks blocks with several threads. First all that definite chains
 * lead to, then what only chains with a pointer into a block lead to; each block is looked through
 * once, so neither order nor threads matter.
 */
#ifndef MEMTRACED_ANALYZE_TRACE_BLOCKS_H
#define MEMTRACED_ANALYZE_TRACE_BLOCKS_H

#include "analyze/scanner.h"

#include <stdatomic.h>

/* What is known of a block, a bit each. From the fifth on: which heuristics made it definite. */
#define TRACE_BY_START 1U
#define TRACE_DEFINITE 2U
#define TRACE_INSIDE 4U /* a definite chain leads into it */
#define TRACE_POSSIBLE 8U
#define TRACE_HEURISTIC(h) (8U << (h))

struct trace_result {
	_Atomic uint8_t *marks; /* n_blocks, zeroed */
	uint32_t *next;		/* n_blocks: for the lists of what is still to be looked through */
	bool cut;		/* the deadline came first */
	struct scanner_counts counts;
};

/* Marks blocks, adds to the counts. 0 or -ENOMEM. */
int trace_blocks(const struct reach_input *input, const struct reach_opts *opts,
		 const struct block_index *index, struct trace_result *result);

#endif
