/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trends of a short series by order statistics, which outliers, bursts and the kind of noise leave
 * alone. Pure functions; at most TREND_MOST points.
 */
#ifndef MEMTRACED_ANALYZE_TREND_H
#define MEMTRACED_ANALYZE_TREND_H

#include <stddef.h>

#define TREND_MOST 128U

/* The value that a share q (0 to 1) of the n > 0 values lies below; reorders them. */
double trend_quantile(double *values, size_t n, double q);

/*
 * The median slope of all pairs (Theil 1950, Sen 1968), y by t; t ascends strictly. 0 for fewer
 * than two points.
 */
double trend_slope(const double *t, const double *y, size_t n);

/*
 * Mann's and Kendall's test for a trend: standard deviations away from none, of that sign. What
 * neighbours have in common counts once: the variance is that of Hamed and Rao (J. Hydrology 204,
 * 1998), from the ranks of what remains without the slope. 0 for fewer than four points.
 */
double trend_score(const double *t, const double *y, size_t n, double slope);

#endif
