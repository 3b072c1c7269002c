/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/trend.h"

#include <math.h>
#include <stdbool.h>

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
