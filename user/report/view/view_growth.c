/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_growth.h"

#include "model/series.h"

#include <string.h>

struct judged {
	uint64_t times_ns[SERIES_POINTS];
	int64_t live_bytes[SERIES_POINTS];
};

/*
 * Samples without those before `first`. What the report shows is left out: of a program that has
 * ended that may be after its exit handlers have freed everything.
 */
static size_t usable(const struct view_timeline *timeline, size_t first)
{
	size_t n = timeline->n_samples;

	return timeline->has_heap && n <= SERIES_POINTS && n > first ? n - first : 0;
}

void view_judge_site(const struct view_timeline *timeline, uint64_t least_span_ns,
		     struct view_site *site)
{
	const struct view_series *series = &site->series;
	struct judged points;
	struct growth_input input = { .times_ns = points.times_ns,
				      .live_bytes = points.live_bytes,
				      .least_span_ns = least_span_ns,
				      .oldest_ns = site->oldest_ns,
				      .frees = site->allocs > (uint64_t)site->live_blocks };
	size_t n = series->live_bytes ? usable(timeline, series->first) : 0;

	for (size_t i = 0; i < n; i++) {
		points.times_ns[i] = timeline->points[series->first + i].time_ns;
		points.live_bytes[i] = series->live_bytes[series->first + i];
	}
	memcpy(input.born_bytes, site->born_bytes, sizeof(input.born_bytes));
	input.n = n;
	site->has_growth = growth_judge(&input, &site->growth);
}

void view_judge_process(struct view_process *process, uint64_t least_span_ns,
			const uint64_t born_bytes[GROWTH_BIRTHS])
{
	const struct view_timeline *timeline = &process->timeline;
	struct judged points;
	struct growth_input input = { .times_ns = points.times_ns,
				      .live_bytes = points.live_bytes,
				      .least_span_ns = least_span_ns,
				      .oldest_ns = UINT64_MAX,
				      .frees = process->totals.frees > 0 };
	size_t n = usable(timeline, 0);

	for (size_t i = 0; i < n; i++) {
		points.times_ns[i] = timeline->points[i].time_ns;
		points.live_bytes[i] = timeline->points[i].live_bytes;
	}
	memcpy(input.born_bytes, born_bytes, sizeof(input.born_bytes));
	input.n = n;
	process->has_growth = growth_judge(&input, &process->growth);
}
