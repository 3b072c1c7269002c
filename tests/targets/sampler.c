/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/targets/sampler.h"

#include "tests/targets/target.h"

#include <math.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

unsigned short otel_memory_alloc_semaphore __attribute__((section(".probes")));
unsigned short otel_memory_free_semaphore __attribute__((section(".probes")));

#define MOST 65536

struct shown {
	void *block;
	uint64_t weight;
};

static struct shown shown[MOST];
static size_t n_shown;
static uint64_t interval, state;
static double gap;
static bool multiples; /* weights as the contract had them before */

static double next_gap(void)
{
	/* 53 random bits: above 0, up to 1 */
	double uniform = (double)((next_random(&state) >> 11) + 1) / 9007199254740992.0;

	return -log(uniform) * (double)interval;
}

static void begin(uint64_t mean_gap, uint64_t seed)
{
	interval = mean_gap;
	state = seed;
	multiples = getenv("SAMPLER_MULTIPLES");
	gap = next_gap();
}

/* The weight of a block that the gap ends in; then there is another gap. */
static uint64_t weight_of(size_t size)
{
	uint64_t samples = 0;

	if (!multiples) {
		gap = next_gap();
		return (uint64_t)llround((double)size / -expm1(-(double)size / (double)interval));
	}
	for (; gap <= 0; gap += next_gap())
		samples++;
	return samples * interval;
}

static bool is_watched(void)
{
	return *(volatile unsigned short *)&otel_memory_alloc_semaphore > 0;
}

static struct {
	volatile uint64_t weight;
	volatile int size;
} in_variables;

/*
 * Three places of the same probe, with descriptors that the compiler chooses: registers, and, what
 * is volatile, memory of the frame or, on x86-64, of a variable, "-4@in_variables+8(%rip)".
 */
static __attribute__((noinline)) void show(void *block, size_t size, uint64_t weight)
{
	volatile uint64_t size_in_memory = size, weight_in_memory = weight;

	in_variables.size = (int)size;
	in_variables.weight = weight;
	if (n_shown % 3 == 2)
		STAP_PROBE3(otel_memory, alloc, block, in_variables.size, in_variables.weight);
	else if (n_shown % 3)
		STAP_PROBE3(otel_memory, alloc, block, size, weight);
	else
		STAP_PROBE3(otel_memory, alloc, block, size_in_memory, weight_in_memory);
}

static void *allocate(struct sampled_place *place, size_t size)
{
	void *block = malloc(size);
	uint64_t weight;

	CHECK(block);
	gap -= (double)size;
	place->blocks++;
	place->live_blocks++;
	place->bytes += size;
	place->live_bytes += size;
	if (gap > 0)
		return block;
	weight = weight_of(size);
	if (!is_watched())
		return block;
	CHECK(n_shown < MOST);
	show(block, size, weight);
	shown[n_shown++] = (struct shown){ block, weight };
	place->samples++;
	place->weight += weight;
	place->live_samples++;
	place->live_weight += weight;
	return block;
}

static void release(struct sampled_place *place, void *block, size_t size)
{
	place->live_blocks--;
	place->live_bytes -= size;
	for (size_t i = 0; i < n_shown; i++) {
		if (shown[i].block != block)
			continue;
		STAP_PROBE1(otel_memory, free, block);
		place->live_weight -= shown[i].weight;
		place->live_samples--;
		shown[i] = shown[--n_shown];
		break;
	}
	free(block);
}

__attribute__((visibility("default")))
const struct sampler sampler = { begin, is_watched, allocate, release };
