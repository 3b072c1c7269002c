/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the samples of a run had at an earlier moment, so that a profile can hold what came since:
 * servers add up what they are sent. Plain data, independent of the view that it was taken of.
 */
#ifndef MEMTRACED_REPORT_BASELINE_H
#define MEMTRACED_REPORT_BASELINE_H

#include "report/samples.h"

struct baseline;

/* Of all processes of the view. 0 or -ENOMEM. */
int baseline_take(const struct view *view, struct baseline **ret_baseline);
void baseline_free(struct baseline *baseline); /* NULL is legal */
DEFINE_CLEANUP(struct baseline, baseline_free)

/* CLOCK_MONOTONIC ns. */
uint64_t baseline_time_ns(const struct baseline *baseline);

/*
 * What came since then; NULL: since the beginning. Of an allocation's stack the allocations and
 * their bytes, of an event's how often it happened, and its value.
 */
struct baseline_values {
	uint64_t count, value;
};
struct baseline_values baseline_since(const struct baseline *baseline, const struct sample *sample);

#endif
