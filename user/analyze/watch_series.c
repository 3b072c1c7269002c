/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/watch_series.h"

#include "analyze/growth.h"

#include <assert.h>
#include <string.h>

#define TIME_NS UINT64_C(100000000)
#define SIZE_BYTES UINT64_C(4096)
#define TIMES_A_SECOND 10.0
#define LEAST_POINTS 4U
#define PARTS 12U

static_assert(PARTS <= TREND_MOST, "trends are of so many points");

static uint32_t at_most_u32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Point `index` goes, what it knew of the most remains. */
static void merge_into_next(struct watch_series *series, uint32_t index)
{
	if (series->points[index + 1].most < series->points[index].most)
		series->points[index + 1].most = series->points[index].most;
	series->n--;
	memmove(&series->points[index], &series->points[index + 1],
		(series->n - index) * sizeof(series->points[0]));
}

/*
 * The one whose neighbours are closest for their age: intervals then grow in proportion to it. By
 * cross-multiplication, in 64 bits; the last but one is compared with what comes now.
 */
static uint32_t find_to_merge(const struct watch_series *series, uint32_t now)
{
	uint32_t best = 1;
	uint64_t best_gap = UINT64_MAX, best_age = 1;

	for (uint32_t i = 1; i + 1 < series->n; i++) {
		uint64_t gap = series->points[i + 1].time - series->points[i - 1].time;
		uint64_t age = now - series->points[i].time;

		if (best_gap == UINT64_MAX || gap * best_age < best_gap * age) {
			best = i;
			best_gap = gap;
			best_age = age;
		}
	}
	return best;
}

void watch_series_add(struct watch_series *series, uint64_t time_ns, uint64_t bytes)
{
	uint32_t time = at_most_u32(time_ns / TIME_NS), size = at_most_u32(bytes / SIZE_BYTES);
	uint32_t most = size;

	if (series->n > 0 && series->points[series->n - 1].time >= time) {
		series->n--;
		time = series->points[series->n].time;
		if (most < series->points[series->n].most)
			most = series->points[series->n].most;
	}
	if (series->n == WATCH_POINTS)
		merge_into_next(series, find_to_merge(series, time));
	series->points[series->n].time = time;
	series->points[series->n].size = size;
	series->points[series->n].most = most;
	series->n++;
}

struct watch_point watch_series_at(const struct watch_series *series, uint32_t index)
{
	return (struct watch_point){
		.time_ns = series->points[index].time * TIME_NS,
		.bytes = series->points[index].size * SIZE_BYTES,
		.most_bytes = series->points[index].most * SIZE_BYTES,
	};
}

/* The last point that is as old as the window's begin; n: there is none. */
static uint32_t first_of_window(const struct watch_series *series, uint32_t window)
{
	uint32_t last = series->points[series->n - 1].time, i = series->n;

	while (i > 0 && last - series->points[i - 1].time < window)
		i--;
	return i > 0 ? i - 1 : series->n;
}

/*
 * Means of the window's equal parts: recent points stand closer together, and would make a trend of
 * the last tooth of a saw.
 */
static uint32_t take_parts(const struct watch_series *series, uint32_t first, double t[PARTS],
			   double y[PARTS])
{
	uint32_t start = series->points[first].time, n = 0;
	uint32_t span = series->points[series->n - 1].time - start + 1;

	for (uint32_t i = first; i < series->n;) {
		uint64_t part = (uint64_t)(series->points[i].time - start) * PARTS / span;
		double time = 0, size = 0;
		uint32_t count = 0;

		for (; i < series->n &&
		       (uint64_t)(series->points[i].time - start) * PARTS / span == part;
		     i++, count++) {
			time += (series->points[i].time - start) / TIMES_A_SECOND;
			size += (double)series->points[i].size * SIZE_BYTES;
		}
		t[n] = time / count;
		y[n++] = size / count;
	}
	return n;
}

bool watch_series_slope(const struct watch_series *series, uint64_t window_ns,
			double *ret_bytes_per_s)
{
	uint32_t window = at_most_u32(window_ns / TIME_NS), first, n;
	double t[PARTS], y[PARTS];

	if (series->n == 0)
		return false;
	first = first_of_window(series, window);
	if (first + LEAST_POINTS > series->n)
		return false;
	for (uint32_t i = first + 1; i < series->n; i++)
		if (series->points[i].time - series->points[i - 1].time > window / 2)
			return false;
	n = take_parts(series, first, t, y);
	*ret_bytes_per_s = trend_slope(t, y, n);
	return true;
}
