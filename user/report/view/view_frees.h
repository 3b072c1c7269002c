/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the blocks of a site were freed, how old they were then, and whether by the thread that had
 * allocated them (--free-stacks). Places with the same frames are one. Part of the view.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_FREES_H
#define MEMTRACED_REPORT_VIEW_VIEW_FREES_H

#include "report/view/view_stack.h"
#include "trace/record/record_cut.h"

struct view_free {
	struct view_stack stack; /* the function that freed them, then its callers */
	uint64_t count, bytes;
	uint64_t others;   /* by another thread than allocated them */
	uint64_t unknown;  /* of these neither thread nor lifetime is known */
	uint64_t total_ns; /* lifetimes of the others */
	uint64_t lifetimes[RECORD_LIFETIMES];
};

struct view_frees {
	size_t n;
	struct view_free *list; /* the most blocks come first */
	uint64_t count, unknown, total_ns;
};

void view_frees_done(struct view_frees *frees);

/* UINT64_MAX: of none is it known. */
uint64_t view_frees_mean_ns(uint64_t total_ns, uint64_t count, uint64_t unknown);

/* What bucket n holds is not below this; of the one behind the last it is what none is known of. */
uint64_t view_lifetime_from_ns(size_t bucket);

/* The bucket that has the median; RECORD_LIFETIMES: there is none. */
size_t view_free_median(const struct view_free *place);

#endif
