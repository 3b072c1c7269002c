/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each site of a made-up course of a heap does: pieces of memory that it takes at one stage
 * and drops at a later one, and what comes and goes in between. For heap_replay.c.
 */
#ifndef MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_PLAN_H
#define MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_PLAN_H

#include "report/heaptrack/heap_replay_stages.h"

#define PIECE_STAYS SIZE_MAX

struct piece {
	size_t site;
	size_t birth, death; /* stages; death: PIECE_STAYS for ever */
	uint64_t bytes, blocks;
	bool temporary; /* taken last at the peak, and dropped first after it */
};

/* Blocks that are in no piece. */
struct passing {
	size_t site;
	uint64_t temporary, others, bytes;
};

struct plan {
	VEC(struct piece) pieces;
	VEC(struct passing) passing;
	struct replay_faults faults;
	bool has_temporary;	/* a piece is; only one can be, since nothing may come in between */
	VEC(struct piece) site; /* the pieces of the site at hand */
};

/* Adds what the site does. 0 or -ENOMEM. */
int plan_add(struct plan *plan, const struct stages *stages, const struct replay_site *site,
	     size_t index);
void plan_done(struct plan *plan);

#endif
