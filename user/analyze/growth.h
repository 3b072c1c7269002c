/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether what a site, or a process, holds grows: a verdict from the series of its live bytes and
 * the ages of what lives. A pure function; docs/hacking/analysis.md says how it decides and how
 * well.
 */
#ifndef MEMTRACED_ANALYZE_GROWTH_H
#define MEMTRACED_ANALYZE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer samples give no verdict. */
#define GROWTH_LEAST 12U
/* Equal parts of the time from the start of the run to now, for when live bytes were allocated. */
#define GROWTH_BIRTHS 8U

enum growth_verdict {
	GROWTH_STEADY,	/* no trend: flat, up and down, or grown at the beginning and then flat */
	GROWTH_CACHE,	/* grew, and is bounded now: what is new replaces what is old */
	GROWTH_GROWING, /* grows, but what is old is freed in the end */
	GROWTH_LEAK,	/* grows, and what is old stays */
	GROWTH_VERDICTS
};

struct growth_input {
	const uint64_t *times_ns; /* since the start of the run; ascending strictly */
	const int64_t *live_bytes;
	size_t n;
	uint64_t least_span_ns; /* from the first sample to the last; 0: any */
	/*
	 * Of what lives now, bytes by when they were allocated. All 0: not known, and the age of
	 * the oldest block stands for them.
	 */
	uint64_t born_bytes[GROWTH_BIRTHS];
	uint64_t oldest_ns; /* UINT64_MAX: not known */
	bool frees;	    /* anything was freed */
};

struct growth {
	enum growth_verdict verdict;
	double bytes_per_s; /* the trend over the run; of what is bounded or steady, too */
	double confidence;  /* 0 to 1: how clear the evidence is. No probability. */
};

/* False: too few samples, or in too short a time. */
bool growth_judge(const struct growth_input *input, struct growth *ret_growth);

/* "steady", "cache", "growing", "leak". */
const char *growth_verdict_name(enum growth_verdict verdict);

/*
 * Trends of a short series by order statistics, which outliers, bursts and the kind of noise leave
 * alone. Pure functions; at most TREND_MOST points.
 */
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
