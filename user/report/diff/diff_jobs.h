/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has changed of the jobs that count: events of both runs with their stacks, and histograms
 * with their groups. Part of the diff, which alone makes it; the views are borrowed.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_JOBS_H
#define MEMTRACED_REPORT_DIFF_DIFF_JOBS_H

#include "base/interns.h"
#include "report/diff/diff_keys.h"

/* Stacks of one program with the same frames, summed over processes and places. */
struct diff_stack {
	/* One of them, of the later run if that has it. */
	const struct model_process *image;
	const struct view_stack *stack;
	unsigned int shown_side;
	bool seen[DIFF_SIDES];
	uint64_t counts[DIFF_SIDES], values[DIFF_SIDES]; /* values: view_event_value */
	const char *key;				 /* for an order without chance */
};

struct diff_event {
	const struct view_event *sides[DIFF_SIDES]; /* NULL: the run did not count it in this way */
	size_t n_stacks;			    /* 0 unless both runs did */
	struct diff_stack *stacks;		    /* what has changed most comes first */
	struct interns keys;
};

struct diff_hist_group {
	const struct view_group *sides[DIFF_SIDES]; /* NULL: it was not there */
};

struct diff_histogram {
	const struct view_histogram *sides[DIFF_SIDES]; /* as above */
	size_t n_groups;
	struct diff_hist_group *groups; /* in the later run's order, then those that are gone */
};

struct diff_jobs {
	size_t n_events, n_histograms;
	struct diff_event *events; /* the later run's, then those of the earlier one alone */
	struct diff_histogram *histograms;
};

/* 0 or -ENOMEM; the jobs have to be released in both cases. */
int diff_jobs_init(const struct view *const views[DIFF_SIDES], struct diff_keys *keys,
		   struct diff_jobs *ret_jobs);
void diff_jobs_done(struct diff_jobs *jobs);

static inline bool diff_event_in_both(const struct diff_event *event)
{
	return event->sides[DIFF_BEFORE] && event->sides[DIFF_AFTER];
}

static inline bool diff_histogram_in_both(const struct diff_histogram *histogram)
{
	return histogram->sides[DIFF_BEFORE] && histogram->sides[DIFF_AFTER];
}

#endif
