/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random numbers that are the same in every run: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014),
 * which has no bad seeds.
 */
#ifndef MEMTRACED_TESTS_UNIT_RANDOM_NUMBERS_H
#define MEMTRACED_TESTS_UNIT_RANDOM_NUMBERS_H

#include <stdint.h>

struct random_numbers {
	uint64_t state;
};

static inline struct random_numbers random_from(uint64_t seed)
{
	return (struct random_numbers){ seed };
}

static inline uint64_t random_next(struct random_numbers *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 .. n - 1; n is small, so that its bias is none. */
static inline uint64_t random_below(struct random_numbers *r, uint64_t n)
{
	return random_next(r) % n;
}

/* 0 <= x < 1. */
static inline double random_unit(struct random_numbers *r)
{
	return (double)(random_next(r) >> 11) / 9007199254740992.0;
}

#endif
