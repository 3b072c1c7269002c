/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks as nanoseconds. Header only.
 */
#ifndef MEMTRACED_BASE_CLOCK_H
#define MEMTRACED_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
