/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/sampler.h"

/* Of so many intervals, e^-50 of the blocks have no sample: less than a double tells. */
#define CERTAIN 50.0
#define LONGEST_GAP ((double)(UINT64_C(1) << 62))

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014: SplitMix64. */
#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)

uint64_t sampler_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/*
 * The area hyperbolic tangent's series, for 0 <= z <= 1/3: 16 terms leave 1e-17. The library that
 * is preloaded shall need no libm.
 */
static double atanh_series(double z)
{
	double power = z, sum = 0;

	for (int i = 0; i < 16; i++) {
		sum += power / (2 * i + 1);
		power *= z * z;
	}
	return sum;
}

/* -ln of a number that is uniform in (0, 1]. */
static double exponential(uint64_t *random)
{
	const double ln2 = 0.693147180559945309;
	uint64_t bits = (sampler_mix(*random += SPLITMIX_STEP) >> 11) + 1; /* of 2^53 */
	int exponent = 63 - __builtin_clzll(bits);
	double mantissa = (double)bits / (double)(UINT64_C(1) << exponent); /* 1 .. 2 */

	return (53 - exponent) * ln2 - 2 * atanh_series((mantissa - 1) / (mantissa + 1));
}

static uint64_t next_gap(struct sampler *sampler, const struct sample_rate *rate)
{
	double gap = exponential(&sampler->random) * rate->scale;

	return gap < LONGEST_GAP ? (uint64_t)gap : (uint64_t)LONGEST_GAP;
}

void sample_rate_init(struct sample_rate *rate, uint64_t interval)
{
	rate->interval = interval;
	/* -1 / ln(1 - 1/interval); of 1, each byte is a sample, and all gaps are 0. */
	rate->scale = interval > 1 ? 0.5 / atanh_series(1 / (2 * (double)interval - 1)) : 0;
}

void sampler_init(struct sampler *sampler, const struct sample_rate *rate, uint64_t seed)
{
	sampler->random = sampler_mix(seed + SPLITMIX_STEP);
	sampler->left = next_gap(sampler, rate);
}

/* 1 - exp(-x), for x >= 0. By the series of x / 2^7, which is doubled: q(2y) = q(y) (2 - q(y)). */
static double one_minus_exp(double x)
{
	const int doublings = 7;
	double y = x / (1 << doublings), term = 1, sum = 0;

	if (x >= CERTAIN)
		return 1;
	for (int i = 1; i <= 16; i++) {
		term *= y / i;
		sum += i % 2 ? term : -term;
	}
	for (int i = 0; i < doublings; i++)
		sum *= 2 - sum;
	return sum;
}

/* A number in [0, 1). */
static double uniform(uint64_t *random)
{
	return (double)(sampler_mix(*random += SPLITMIX_STEP) >> 11) / (double)(UINT64_C(1) << 53);
}

/*
 * size / p, of the probability p that one byte of `size` or more is a sample. It is rounded up with
 * the probability that its fraction is, so that sums have no bias.
 */
static uint64_t weight_of(struct sampler *sampler, const struct sample_rate *rate, uint64_t size)
{
	double x = rate->scale > 0 ? (double)size / rate->scale : CERTAIN;
	double p = one_minus_exp(x), beyond = (double)size * (1 - p) / p;
	uint64_t whole = beyond < LONGEST_GAP ? (uint64_t)beyond : (uint64_t)LONGEST_GAP;

	return size + whole + (uniform(&sampler->random) < beyond - (double)whole);
}

uint64_t sampler_take(struct sampler *sampler, const struct sample_rate *rate, uint64_t size)
{
	if (sampler_pass(sampler, size))
		return 0;
	/* Bytes are samples independently: the rest of the gap tells nothing of the next one. */
	sampler->left = next_gap(sampler, rate);
	return weight_of(sampler, rate, size);
}
