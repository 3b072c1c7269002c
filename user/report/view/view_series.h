/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Series over the run as a view has them: of a process its timeline, of a site its live bytes at
 * the same moments. The last point is the state that the report shows. Plain data, owned by the
 * view.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_SERIES_H
#define MEMTRACED_REPORT_VIEW_VIEW_SERIES_H

#include "model/model.h"
#include "report/report_opts.h"

struct view_point {
	uint64_t time_ns; /* since the beginning of the run */
	/* Where the timeline has the heap, else 0: */
	int64_t live_bytes, live_blocks;
	uint64_t allocs, frees, bytes; /* so far */
	uint64_t rss_bytes;	       /* UINT64_MAX: not known */
	uint64_t cgroup_bytes;	       /* that all of its cgroup use; UINT64_MAX: not known */
	uint64_t pss_bytes;	       /* UINT64_MAX: not read then */
};

struct view_timeline {
	size_t n; /* 0: there is none */
	struct view_point *points;
	bool has_heap;	  /* false: allocations were not counted */
	size_t first;	  /* sample that the first point is, */
	size_t n_samples; /* and how many of the points are samples: all, or all but the last */
	uint64_t peak_ns; /* since the beginning of the run; UINT64_MAX: not known */
	/* Most that was resident since the image began; UINT64_MAX: not known. */
	uint64_t peak_rss_bytes;
	bool peak_rss_exact; /* false: it may have been more */
};

/* `first` points are missing: it was not followed yet. */
struct view_series {
	size_t first;
	int64_t *live_bytes; /* as many as there are points; NULL: the site was not followed */
};

/*
 * `usage`: of a process that the run did not sample; NULL: nothing. 0, or -ENOMEM, after which
 * view_timeline_done is called as well.
 */
int view_timeline_init(const struct model *model, const struct report_usage *usage,
		       const struct model_process *image, struct view_timeline *timeline);
void view_timeline_done(struct view_timeline *timeline);

int view_series_init(const struct model *model, const struct view_timeline *timeline,
		     const struct record_site *site, struct view_series *series);
void view_series_done(struct view_series *series);
/* The two sites are one: what only one of them was followed for is missing. */
void view_series_merge(struct view_series *into, struct view_series *from, size_t n);

#endif
