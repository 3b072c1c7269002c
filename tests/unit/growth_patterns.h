/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up programs, each one site that allocates and frees blocks in a way that people have a name
 * for, with sizes, rates and moments by chance; and what memtraced would see of it.
 */
#ifndef MEMTRACED_TESTS_UNIT_GROWTH_PATTERNS_H
#define MEMTRACED_TESTS_UNIT_GROWTH_PATTERNS_H

#include "analyze/growth.h"

#define PATTERN_MOST_SAMPLES 120U

struct growth_pattern {
	const char *name;
	enum growth_verdict is;
};

struct growth_seen {
	uint64_t times_ns[PATTERN_MOST_SAMPLES];
	int64_t live_bytes[PATTERN_MOST_SAMPLES];
	struct growth_input input; /* points to these */
};

const struct growth_pattern *growth_patterns(size_t *ret_n);

/* Runs pattern `index` with that seed for n samples. Fails the test without memory. */
void growth_pattern_run(size_t index, uint64_t seed, size_t n, struct growth_seen *seen);

#endif
