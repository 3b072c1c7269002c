/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The moments that a made-up course of a heap goes through: samples, the peak, the end. For
 * heap_replay.c.
 */
#ifndef MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_STAGES_H
#define MEMTRACED_REPORT_HEAPTRACK_HEAP_REPLAY_STAGES_H

#include "base/vec.h"
#include "report/view/view_series.h"

#include <stdbool.h>

struct replay_site {
	uint64_t allocs, bytes, temporary;
	uint64_t peak_bytes, live_bytes, live_blocks;
	/* Live bytes at the points of the timeline but the last, known from `first` on; or NULL. */
	const int64_t *samples;
	size_t first;
};

/* What could not be made true, where events were lost or blocks are older than the trace. */
struct replay_faults {
	uint64_t extra_allocs; /* not made by the program: for blocks that it did not allocate */
	uint64_t missing_temporary;
};

enum stage_kind {
	STAGE_SAMPLE,
	STAGE_KEEP, /* a sample whose live bytes cannot be shown: the stage before goes on */
	STAGE_PEAK,
	STAGE_END,
};

struct stage {
	enum stage_kind kind;
	uint64_t time_ns;
	uint64_t allocs; /* so far, of all sites; UINT64_MAX: not known */
	size_t point;	 /* of the timeline; SIZE_MAX: it is none */
};

struct stages {
	VEC(struct stage) list;
	size_t peak;	  /* place in the list; SIZE_MAX: there is none */
	uint64_t at_peak; /* bytes of all sites */
};

/* 0 or -ENOMEM; the stages have to be released in both cases. */
int stages_init(struct stages *stages, const struct replay_site *sites, size_t n,
		const struct view_timeline *timeline, uint64_t end_ns);
void stages_done(struct stages *stages);

/*
 * What the site holds then. Without its samples it holds nothing before the peak, and between peak
 * and end what it held all the time.
 */
uint64_t stages_live(const struct stages *stages, const struct replay_site *site, bool samples,
		     size_t stage);

#endif
