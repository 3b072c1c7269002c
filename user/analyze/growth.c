/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/growth.h"

#include "base/saturate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void swap_values(double *a, double *b)
{
	double tmp = *a;

	*a = *b;
	*b = tmp;
}

/* Hoare's selection: the k-th smallest comes to its place, with smaller ones before it. */
static double nth(double *v, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		double pivot = v[low + (high - low) / 2];
		size_t i = low, j = high;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap_values(&v[i++], &v[j--]);
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[k];
}

double trend_quantile(double *values, size_t n, double q)
{
	size_t k = (size_t)(q * (double)(n - 1) + 0.5);

	return nth(values, n, k < n ? k : n - 1);
}

double trend_slope(const double *t, const double *y, size_t n)
{
	static const size_t most = TREND_MOST;
	double slopes[TREND_MOST * (TREND_MOST - 1) / 2];
	size_t k = 0;

	if (n < 2 || n > most)
		return 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			slopes[k++] = (y[j] - y[i]) / (t[j] - t[i]);
	return trend_quantile(slopes, k, 0.5);
}

/* Ranks from 1 on, equal values share their mean. */
static void rank_values(const double *v, size_t n, double *ranks)
{
	for (size_t i = 0; i < n; i++) {
		size_t below = 0, equal = 0;

		for (size_t j = 0; j < n; j++) {
			below += v[j] < v[i];
			equal += v[j] == v[i];
		}
		ranks[i] = (double)below + (double)(equal + 1) / 2;
	}
}

static double autocorrelation(const double *v, size_t n, size_t lag, double mean, double variance)
{
	double sum = 0;

	for (size_t i = 0; i + lag < n; i++)
		sum += (v[i] - mean) * (v[i + lag] - mean);
	return sum / ((double)(n - lag) * variance);
}

/* By how much the variance of Kendall's sum is larger than that of independent values. */
static double correction(const double *t, const double *y, size_t n, double slope)
{
	double rest[TREND_MOST], ranks[TREND_MOST], mean = (double)(n + 1) / 2, variance = 0;
	double sum = 0, m = (double)n;

	for (size_t i = 0; i < n; i++)
		rest[i] = y[i] - slope * t[i];
	rank_values(rest, n, ranks);
	for (size_t i = 0; i < n; i++)
		variance += (ranks[i] - mean) * (ranks[i] - mean) / m;
	if (variance <= 0)
		return 1;
	/* Beyond a quarter of the series there are too few pairs to tell; small ones are chance. */
	for (size_t lag = 1; lag <= n / 4; lag++) {
		double r = autocorrelation(ranks, n, lag, mean, variance);

		if (fabs(r) > 1.96 / sqrt(m))
			sum += (m - (double)lag) * (m - (double)lag - 1) * (m - (double)lag - 2) *
			       r;
	}
	sum = 1 + 2 * sum / (m * (m - 1) * (m - 2));
	return sum > 1 ? sum : 1;
}

double trend_score(const double *t, const double *y, size_t n, double slope)
{
	double variance = (double)n * (double)(n - 1) * (double)(2 * n + 5) / 18;
	double s = 0;

	if (n < 4 || n > TREND_MOST)
		return 0;
	for (size_t i = 0; i < n; i++) {
		size_t equal = 0;

		for (size_t j = i + 1; j < n; j++)
			s += (y[j] > y[i]) - (y[j] < y[i]);
		for (size_t j = 0; j < n; j++)
			equal += y[j] == y[i];
		/* each of a group of `equal` ties takes its share of the group's */
		variance -= (double)(equal - 1) * (double)(2 * equal + 5) / 18;
	}
	if (variance <= 0 || s == 0)
		return 0;
	s -= s > 0 ? 1 : -1; /* it moves by steps of two */
	return s / sqrt(variance * correction(t, y, n, slope));
}

/* Standard deviations from which on a trend is believed: over the run, and of fewer points. */
#define CLEAR 3.0
#define CLEAR_FEW 2.0
/* A trend that adds less than this share of the level over the run is none. */
#define LEAST_GAIN 0.02
/* Still rising: the second half adds at least this share of what was added; half, if evenly. */
#define STILL_RISING 0.25
/* A fall by this share of the range, and by so many times what neighbours differ, ends a tooth. */
#define TOOTH 0.5
#define TOOTH_NOISE 4.0
/* What grew for less of the run has warmed up. */
#define WARM_UP 0.1
/* Of what is bounded, at least so much is new: the newest quarter of the run. */
#define TURNOVER 0.05
/* Of what the trend has added, at least so much must still be there: it leaks. */
#define RETAINED 0.5
/* Parts of the run that are not new, and how many of them must be known. */
#define OLD_PARTS (GROWTH_BIRTHS * 3 / 4)
#define LEAST_PARTS 3U
/* Even: the least has this share of the median. */
#define EVEN 0.3
/* The newest two are at most so many times the oldest two. */
#define UNEVEN 2.5
/* The series agrees with a rate: the trend has this share of it. */
#define AGREES 0.3

struct points {
	double t[TREND_MOST], y[TREND_MOST]; /* seconds, bytes */
	size_t n;
	double low, high; /* of y */
};

struct shape {
	double slope, score;	       /* over the run */
	double late_slope, late_score; /* of its second half */
	double start, end;	       /* lowest of the first tenth, median of the last */
	double span;		       /* seconds */
};

static const char *const names[GROWTH_VERDICTS] = { "steady", "cache", "growing", "leak" };

const char *growth_verdict_name(enum growth_verdict verdict)
{
	return names[verdict];
}

static double quantile_of(const double *values, size_t n, double q)
{
	double copy[TREND_MOST];

	memcpy(copy, values, n * sizeof(*copy));
	return trend_quantile(copy, n, q);
}

static void load_points(const struct growth_input *input, struct points *p)
{
	size_t skip = input->n > TREND_MOST ? input->n - TREND_MOST : 0;

	p->n = input->n - skip;
	for (size_t i = 0; i < p->n; i++) {
		p->t[i] = (double)input->times_ns[skip + i] / 1e9;
		p->y[i] = (double)input->live_bytes[skip + i];
		p->low = i == 0 || p->y[i] < p->low ? p->y[i] : p->low;
		p->high = i == 0 || p->y[i] > p->high ? p->y[i] : p->high;
	}
}

static struct shape measure(const struct points *p)
{
	size_t half = p->n / 2, tenth = p->n / 10 > 2 ? p->n / 10 : 3;
	struct shape s = { .span = p->t[p->n - 1] - p->t[0] };

	s.slope = trend_slope(p->t, p->y, p->n);
	s.score = trend_score(p->t, p->y, p->n, s.slope);
	s.late_slope = trend_slope(p->t + half, p->y + half, p->n - half);
	s.late_score = trend_score(p->t + half, p->y + half, p->n - half, s.late_slope);
	s.start = quantile_of(p->y, tenth, 0);
	s.end = quantile_of(p->y + p->n - tenth, tenth, 0.5);
	return s;
}

/* How much neighbours differ, as a standard deviation would be. */
static double noise(const struct points *p)
{
	double steps[TREND_MOST];

	for (size_t i = 0; i + 1 < p->n; i++)
		steps[i] = fabs(p->y[i + 1] - p->y[i]);
	return 1.4826 * trend_quantile(steps, p->n - 1, 0.5);
}

/*
 * Lowest points between falls. Returns how many there are: 1 when nothing falls, and then the
 * first point is meant.
 */
static size_t troughs(const struct points *p, double *t, double *y)
{
	double fall = TOOTH * (p->high - p->low), least = TOOTH_NOISE * noise(p), top = p->y[0];
	size_t n = 0;

	fall = fall > least ? fall : least;
	t[n] = p->t[0];
	y[n++] = p->y[0];
	for (size_t i = 1; i < p->n; i++) {
		if (top - p->y[i] >= fall && fall > 0) {
			t[n] = p->t[i];
			y[n++] = p->y[i];
			top = p->y[i];
		} else if (n > 1 && p->y[i] < y[n - 1]) {
			t[n - 1] = p->t[i];
			y[n - 1] = top = p->y[i];
		} else if (p->y[i] > top) {
			top = p->y[i];
		}
	}
	return n;
}

/* When 90 % of what was gained had been reached for good, as a share of the run. */
static double grown_until(const struct points *p, const struct shape *s)
{
	double goal = s->start + 0.9 * (s->end - s->start);

	for (size_t i = 0; i < p->n; i++)
		if (p->y[i] >= goal)
			return (p->t[i] - p->t[0]) / s->span;
	return 1;
}

static double born(const struct growth_input *input, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += (double)input->born_bytes[i];
	return sum;
}

/*
 * What is left of each part of the run, but of the newest quarter, where all sites hold something,
 * and of what was there before: bytes a second. 0 where the parts are too unequal: of what is freed
 * at some age, less is left of older parts.
 */
static double left_rate(const struct growth_input *input, const struct points *p)
{
	double width = p->t[p->n - 1] / GROWTH_BIRTHS, parts[GROWTH_BIRTHS], least = -1, middle;
	size_t n = 0;

	if (!(width > 0)) /* times of a recording may be any */
		return 0;
	for (size_t i = saturate_u64(ceil(p->t[0] / width)); i < OLD_PARTS; i++) {
		parts[n] = (double)input->born_bytes[i];
		least = n == 0 || parts[n] < least ? parts[n] : least;
		n++;
	}
	if (n < LEAST_PARTS || parts[n - 1] + parts[n - 2] > UNEVEN * (parts[0] + parts[1]))
		return 0;
	middle = trend_quantile(parts, n, 0.5);
	return least >= EVEN * middle ? middle / width : 0;
}

/* The newest of the old parts against the trend since then. */
static bool is_retained(const struct growth_input *input, const struct points *p,
			const struct shape *s)
{
	double width = p->t[p->n - 1] / GROWTH_BIRTHS;

	if (born(input, 0, GROWTH_BIRTHS) > 0)
		return born(input, OLD_PARTS - 2, OLD_PARTS) >=
		       RETAINED * s->late_slope * 2 * width;
	return input->oldest_ns != UINT64_MAX && (double)input->oldest_ns / 1e9 >= 0.75 * s->span;
}

/* How far the values of the second half are from its trend, as a standard deviation would be. */
static double late_noise(const struct points *p, const struct shape *s)
{
	double rest[TREND_MOST], middle;
	size_t half = p->n / 2, n = p->n - half;

	for (size_t i = 0; i < n; i++)
		rest[i] = p->y[half + i] - s->late_slope * p->t[half + i];
	middle = trend_quantile(rest, n, 0.5);
	for (size_t i = 0; i < n; i++)
		rest[i] = fabs(rest[i] - middle);
	return 1.4826 * trend_quantile(rest, n, 0.5);
}

/*
 * Something is left of every part of the run, evenly, and the series does not speak against it: a
 * leak may be too slow to be seen in a level that wanders.
 */
static bool leaks_slowly(const struct growth_input *input, const struct points *p,
			 const struct shape *s)
{
	double rate = left_rate(input, p);

	return rate * s->span >= LEAST_GAIN * p->high && s->slope >= AGREES * rate &&
	       (rate - s->late_slope) * s->span / 2 <= CLEAR * late_noise(p, s);
}

static bool turns_over(const struct growth_input *input)
{
	double all = born(input, 0, GROWTH_BIRTHS);

	if (!input->frees)
		return false;
	return all <= 0 || born(input, OLD_PARTS, GROWTH_BIRTHS) >= TURNOVER * all;
}

/* What a score says with that many samples; half of it at 10. */
static double clearness(double score, size_t n)
{
	return erf(fabs(score) / sqrt(2)) * (double)n / (double)(n + 10);
}

/* Up and down: what counts is whether the troughs rise, of which three are needed. */
static struct growth judge_teeth(const struct growth_input *input, const struct points *p,
				 struct shape *s, const double *t, const double *y, size_t n)
{
	struct growth g = { .verdict = GROWTH_STEADY };

	if (leaks_slowly(input, p, s))
		return (struct growth){ GROWTH_LEAK, s->slope, clearness(s->score, p->n) };
	/* one fall is no tooth: what only sinks keeps its trend */
	if (n > 2) {
		s->slope = trend_slope(t + 1, y + 1, n - 1);
		s->score = trend_score(t + 1, y + 1, n - 1, s->slope);
	}
	g.bytes_per_s = s->slope;
	if (n > 4 && s->score >= CLEAR_FEW && s->slope * s->span >= 0.25 * (p->high - p->low))
		g.verdict = left_rate(input, p) > 0 ? GROWTH_LEAK : GROWTH_GROWING;
	g.confidence = g.verdict == GROWTH_STEADY ? (double)n / (double)(n + 1) :
						    clearness(s->score, p->n);
	return g;
}

static struct growth judge_trend(const struct growth_input *input, const struct points *p,
				 const struct shape *s)
{
	struct growth g = { .bytes_per_s = s->slope };
	bool gains = s->score >= CLEAR && s->slope * s->span >= LEAST_GAIN * p->high;
	double late_gain = s->late_slope * s->span / 2;
	bool late = s->late_score >= CLEAR_FEW && late_gain >= STILL_RISING * (s->end - s->start) &&
		    late_gain >= LEAST_GAIN * p->high;
	bool begun = late && s->late_score >= CLEAR;

	if (leaks_slowly(input, p, s) || ((gains || begun) && late && is_retained(input, p, s)))
		g.verdict = GROWTH_LEAK;
	else if (gains && late)
		g.verdict = GROWTH_GROWING;
	if (g.verdict != GROWTH_STEADY) {
		g.confidence = clearness(fmax(s->score, s->late_score), p->n);
		return g;
	}
	g.confidence = 1 - clearness(s->late_score > 0 ? s->late_score : 0, p->n) / 2;
	if (s->end > s->start && s->end - s->start >= TOOTH * (p->high - p->low) &&
	    grown_until(p, s) >= WARM_UP && turns_over(input))
		g.verdict = GROWTH_CACHE;
	return g;
}

bool growth_judge(const struct growth_input *input, struct growth *ret_growth)
{
	double t[TREND_MOST + 1], y[TREND_MOST + 1];
	struct points p = { .n = 0 };
	struct shape s;
	size_t n;

	if (input->n < GROWTH_LEAST ||
	    input->times_ns[input->n - 1] - input->times_ns[0] < input->least_span_ns)
		return false;
	load_points(input, &p);
	if (p.high <= p.low) {
		*ret_growth = (struct growth){ .verdict = GROWTH_STEADY, .confidence = 1 };
		return true;
	}
	s = measure(&p);
	n = troughs(&p, t, y);
	*ret_growth = n > 1 ? judge_teeth(input, &p, &s, t, y, n) : judge_trend(input, &p, &s);
	return true;
}
