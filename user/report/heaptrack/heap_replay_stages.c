/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/heaptrack/heap_replay_stages.h"

#include "base/saturate.h"

/* Of a site that was too small to be followed: what is there at the peak and at the end stays. */
static uint64_t sample_of(const struct replay_site *site, size_t point, bool after_peak)
{
	if (!site->samples || point < site->first)
		return after_peak ? min_u64(site->peak_bytes, site->live_bytes) : 0;
	return site->samples[point] > 0 ? (uint64_t)site->samples[point] : 0;
}

static uint64_t without_samples(const struct stages *stages, const struct replay_site *site,
				size_t stage)
{
	uint64_t live = min_u64(site->peak_bytes, site->live_bytes);

	if (stages->peak == SIZE_MAX || stage < stages->peak)
		return 0;
	for (size_t i = stages->peak + 1; i < stages->list.len; i++)
		if (stages->list.data[i].kind == STAGE_SAMPLE)
			live = min_u64(live, sample_of(site, stages->list.data[i].point, true));
	return live;
}

uint64_t stages_live(const struct stages *stages, const struct replay_site *site, bool samples,
		     size_t stage)
{
	const struct stage *list = stages->list.data;

	while (samples && list[stage].kind == STAGE_KEEP && stage > 0)
		stage--;
	if (list[stage].kind == STAGE_END)
		return site->live_bytes;
	if (list[stage].kind == STAGE_PEAK)
		return site->peak_bytes;
	if (!samples)
		return without_samples(stages, site, stage);
	if (list[stage].kind == STAGE_KEEP)
		return 0;
	return sample_of(site, list[stage].point, stage > stages->peak);
}

static int add_peak(struct stages *stages, uint64_t time_ns)
{
	stages->peak = stages->list.len;
	return vec_push(&stages->list, (struct stage){ STAGE_PEAK, time_ns, UINT64_MAX, SIZE_MAX });
}

/* No sample may show the peak before it, or more than it, which races can make it hold. */
static enum stage_kind kind_of(const struct stages *stages, const struct replay_site *sites,
			       size_t n, size_t point)
{
	bool after_peak = stages->peak != SIZE_MAX;
	uint64_t live = 0;

	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(live, sample_of(&sites[i], point, after_peak), &live))
			return STAGE_KEEP;
	if (live > stages->at_peak)
		return STAGE_KEEP;
	return live == stages->at_peak && !after_peak ? STAGE_KEEP : STAGE_SAMPLE;
}

/* The time of a peak is late by a sample at most: it was there by the sample of that time. */
int stages_init(struct stages *stages, const struct replay_site *sites, size_t n,
		const struct view_timeline *timeline, uint64_t end_ns)
{
	size_t n_samples = timeline->n > 0 ? timeline->n - 1 : 0;
	struct stage end = { STAGE_END, end_ns, UINT64_MAX, SIZE_MAX };
	int r = 0;

	*stages = (struct stages){ .peak = SIZE_MAX };
	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(stages->at_peak, sites[i].peak_bytes, &stages->at_peak))
			stages->at_peak = UINT64_MAX;
	for (size_t i = 0; r == 0 && i < n_samples; i++) {
		const struct view_point *point = &timeline->points[i];

		if (stages->peak == SIZE_MAX && stages->at_peak > 0 &&
		    point->time_ns >= timeline->peak_ns)
			r = add_peak(stages, timeline->peak_ns);
		if (r == 0)
			r = vec_push(&stages->list,
				     (struct stage){ kind_of(stages, sites, n, i), point->time_ns,
						     point->allocs, i });
	}
	if (timeline->n > 0) {
		end.time_ns = timeline->points[n_samples].time_ns;
		end.point = n_samples;
	}
	if (r == 0 && stages->peak == SIZE_MAX && stages->at_peak > 0)
		r = add_peak(stages,
			     timeline->peak_ns < end.time_ns ? timeline->peak_ns : end.time_ns);
	return r < 0 ? r : vec_push(&stages->list, end);
}

void stages_done(struct stages *stages)
{
	vec_done(&stages->list);
}
