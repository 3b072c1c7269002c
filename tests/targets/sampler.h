/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An allocator over malloc that shows samples by the USDT probes of otel_memory, as its contract
 * has it: gaps in bytes are drawn from an exponential distribution, and an allocation that a gap
 * ends in is shown with its size by the chance of that as its weight. It counts what it shows.
 */
#ifndef TESTS_TARGETS_SAMPLER_H
#define TESTS_TARGETS_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was made at one place, exactly, and of that what was shown. */
struct sampled_place {
	uint64_t blocks, bytes, live_blocks, live_bytes;
	uint64_t samples, weight, live_samples, live_weight;
};

/* What dlsym finds in the library. */
struct sampler {
	void (*begin)(uint64_t interval, uint64_t seed);
	bool (*is_watched)(void); /* else nothing is shown */
	void *(*allocate)(struct sampled_place *place, size_t size);
	void (*release)(struct sampled_place *place, void *block, size_t size);
};
extern const struct sampler sampler;

#endif
