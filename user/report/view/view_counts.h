/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view holds of the jobs that count: histograms with their groups, and events with their
 * stacks, those with the same places merged. Plain data, owned by the view, which alone makes it.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_COUNTS_H
#define MEMTRACED_REPORT_VIEW_VIEW_COUNTS_H

#include "model/model.h"
#include "report/view/symbols.h"
#include "report/view/view_stack.h"

struct view_group {
	const struct record_hist_counts *counts;
	uint64_t count; /* of all its buckets */
};

struct view_histogram {
	const struct record_histogram *asked;
	size_t n_groups;
	struct view_group *groups; /* the largest count first */
};

struct view_event_stack {
	const struct model_process *image; /* never NULL */
	uint64_t count, first_ns, last_ns;
	uint64_t ns;		 /* of a timed event's */
	uint64_t weight;	 /* of page faults: how many the count stands for, */
	double variance;	 /* and how far that is off */
	struct view_stack stack; /* the kernel's frames, then the process's */
};

struct view_event {
	const struct record_event *asked;
	uint64_t count; /* of all its stacks */
	uint64_t ns;	/* theirs, if it is timed */
	uint64_t weight;
	double variance;
	uint64_t interval; /* the most that a sample stood for, or could have; 1: each was seen */
	size_t n_stacks;
	struct view_event_stack *stacks; /* by view_event_value, the largest first */
};

/* Is it seen now and then, so that what it stands for is an estimate? */
static inline bool view_event_sampled(const struct view_event *event)
{
	return event->asked->period_ns || event->interval > 1;
}

/* Does each sample stand for so many events as its weight says? */
static inline bool view_event_weighs(const struct view_event *event)
{
	return event->asked->period || event->asked->adapts;
}

/*
 * What one of its stacks is worth, and all together: nanoseconds if it is timed, else how many
 * events (of a clock's, samples) the count stands for.
 */
static inline uint64_t view_event_value(const struct view_event *event,
					const struct view_event_stack *stack)
{
	if (event->asked->timed)
		return stack->ns;
	return view_event_weighs(event) ? stack->weight : stack->count;
}

static inline uint64_t view_event_total(const struct view_event *event)
{
	if (event->asked->timed)
		return event->ns;
	return view_event_weighs(event) ? event->weight : event->count;
}

/*
 * How far the page faults of all stacks, or of one, can be off in 95 of 100 cases; 0: not at all,
 * or another event. Of all there may be more that no sample was of.
 */
uint64_t view_event_ci95(const struct view_event *event);
uint64_t view_event_stack_ci95(const struct view_event *event,
			       const struct view_event_stack *stack);

/* What so many page faults are if all are of small pages; 0: another event, or not known. */
static inline uint64_t view_event_bytes(const struct view_event *event, uint64_t faults)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(faults, event->asked->page_bytes, &bytes) || bytes > INT64_MAX)
		return INT64_MAX;
	return bytes;
}

struct view_counts {
	size_t n_histograms, n_events;
	struct view_histogram *histograms; /* in the order in which they were asked for */
	struct view_event *events;
};

struct report_opts;

/*
 * With opts->one_image events have the stacks of that image and of those before it alone. 0 or
 * -ENOMEM; the counts have to be released in both cases.
 */
int view_counts_init(const struct model *model, struct symbols *symbols,
		     const struct report_opts *opts, struct view_counts *ret_counts);
void view_counts_done(struct view_counts *counts);

#endif
