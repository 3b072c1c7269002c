/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the caller of a report chooses. Sizes of single blocks are filtered where events are
 * counted, not here. Plain data.
 */
#ifndef MEMTRACED_REPORT_REPORT_OPTS_H
#define MEMTRACED_REPORT_REPORT_OPTS_H

#include "config/options.h"
#include "trace/record/image.h"

struct leak_result;
struct model_process;
struct view_point;
struct where;

/* What a trace was allowed to cost and has cost; shares of a CPU's time, in millionths. */
struct report_budget {
	uint64_t max_ppm;	/* 0: there was no limit */
	uint64_t used_ppm;	/* of the time that was asked for */
	uint64_t predicted_ppm; /* as it went on at last */
	uint64_t untraced_ns;	/* of the time that was asked for; 0: it was traced whole */
	bool pre_empted;	/* for that another trace is the reason, not what it has cost */
};

/* Who looked at processes where the run itself did not. */
struct report_usage {
	/*
	 * What this one used over time, ascending by CLOCK_MONOTONIC's nanoseconds, which become
	 * the run's; of a heap nothing. *ret_points is malloc'ed, NULL: nothing is known. 0 or
	 * -ENOMEM.
	 */
	int (*points)(const struct model_process *image, void *userdata,
		      struct view_point **ret_points, size_t *ret_n);
	void *userdata;
};

#define REPORT_LEAST_WIDTH 40

struct report_opts {
	enum option_sort sort;
	uint64_t top; /* of sites, processes, groups and stacks, each, in tables; 0: all */
	uint64_t older_than_ns; /* only sites with a live block of at least this age */
	bool one_image;		/* only this image of a process, and those before it: */
	image_t image;
	bool alone;		   /* with one_image: not those before it */
	bool held_now;		   /* who has ended holds no regions any more, nor has sites */
	const struct where *where; /* only such sites; NULL: all. Borrowed */
	enum group_by group_by;	   /* in tables */
	bool full_names;	   /* in tables, of functions: else function_name_short() */
	char *const *wrappers;	   /* patterns of functions; NULL: none. Borrowed */
	uint64_t mark_ns; /* regions from then on are young (view_site); blocks say so themselves */
	enum option_widths widths; /* in flame graphs of diffs */
	bool color;
	unsigned int width; /* columns of tables, at least REPORT_LEAST_WIDTH; 0: 80 */
	/*
	 * What formats that hold the stacks of one job are about, counted from 0: allocations, if
	 * they were traced, then the events as they were asked for.
	 */
	size_t job;
	bool only_job; /* the view has none of the others */
	/* Job 0 is the mappings beside the heap, for formats with one quantity a stack. */
	bool mappings;
	bool allocated_first;	      /* pprof shows what was allocated, unless told otherwise */
	struct massif_options massif; /* 0 snapshots: as many as there are */
	/* Formats with a line a call refuse a process with more of them; 0: their own limit. */
	uint64_t most_calls;
	const struct report_budget *budget; /* NULL: not of a service. Borrowed */
	const struct report_usage *usage;   /* NULL: it was not. Borrowed */
	/* Of leak checks; of an image the last one holds. Borrowed. */
	struct leak_result *const *leaks;
	size_t n_leaks;
};

#endif
