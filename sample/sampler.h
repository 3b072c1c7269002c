/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which bytes of a thread's allocations are samples: each byte is one with the probability of one
 * in `interval`, independently of all others, so that the gaps between them are geometric. A block
 * that has a sample is chosen, and stands for its size divided by the probability of that: an
 * unbiased estimate, as the contract of otel_memory has it. A block of many intervals is chosen for
 * certain, and stands for itself. Pure: all state is in the structs, and a seed says what comes.
 */
#ifndef MEMTRACED_SAMPLE_SAMPLER_H
#define MEMTRACED_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLE_INTERVAL (512 * 1024) /* the default */

struct sample_rate {
	uint64_t interval; /* bytes, at least 1 */
	double scale;	   /* what -ln of a uniform number is multiplied by to give a gap */
};

/* Zeroed: no byte passes, so that the first allocation comes to who gives it its seed. */
struct sampler {
	uint64_t left; /* bytes before the next sample */
	uint64_t random;
};

/* Another number for each, whose bits all depend on all of x's. */
uint64_t sampler_mix(uint64_t x);

void sample_rate_init(struct sample_rate *rate, uint64_t interval);

/* Threads, and the processes of a fork, must not have equal seeds. */
void sampler_init(struct sampler *sampler, const struct sample_rate *rate, uint64_t seed);

/* The fast path: true, and counted, when no byte of `size` is a sample; else sampler_take(). */
static inline bool sampler_pass(struct sampler *sampler, size_t size)
{
	uint64_t left = sampler->left;

	if (__builtin_expect(size > left, 0))
		return false;
	sampler->left = left - size;
	return true;
}

/* The weight of a block of `size` bytes; 0: it is not chosen. */
uint64_t sampler_take(struct sampler *sampler, const struct sample_rate *rate, uint64_t size);

#endif
