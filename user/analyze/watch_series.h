/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory something had, for months at bounded memory: what is recent point by point, what
 * is older ever more coarsely. Plain data, no clock of its own; pure functions.
 *
 * 580 bytes each. Times are kept in tenths of a second, sizes in units of 4 KiB.
 */
#ifndef MEMTRACED_ANALYZE_WATCH_SERIES_H
#define MEMTRACED_ANALYZE_WATCH_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define WATCH_POINTS 48U

struct watch_series {
	uint32_t n;
	struct {
		uint32_t time, size;
		uint32_t most; /* the largest of this one and those merged into it */
	} points[WATCH_POINTS];
};

struct watch_point {
	uint64_t time_ns;
	uint64_t bytes;
	uint64_t most_bytes; /* since the point before */
};

/*
 * `time_ns` is of a clock that does not run backwards; what is not a tenth of a second after the
 * last point replaces it. When all points are in use, two neighbours become one: those that are
 * closest to each other for their age. The first and the last one stay.
 */
void watch_series_add(struct watch_series *series, uint64_t time_ns, uint64_t bytes);

/* index < series->n, ascending by time. */
struct watch_point watch_series_at(const struct watch_series *series, uint32_t index);

/*
 * The median slope (analyze/growth.h) over the last window_ns, of means of its equal parts. False
 * where that is not known: there is no point as old, there are fewer than four, or between two of
 * them half of the window passed (there was no sample, as the machine stood still).
 */
bool watch_series_slope(const struct watch_series *series, uint64_t window_ns,
			double *ret_bytes_per_s);

#endif
