/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the next sample of a run is due. Plain data, no clock of its own.
 *
 * Moments are spread by a quarter of the interval to either side: a program that does something
 * regularly would otherwise be met at the same point of it each time, or at one that moves slowly,
 * which looks like growth.
 */
#ifndef MEMTRACED_SERVICE_SESSION_SAMPLE_CLOCK_H
#define MEMTRACED_SERVICE_SESSION_SAMPLE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sample_clock {
	uint64_t interval_ns; /* at first */
	uint64_t next_ns;
	uint64_t random;
	uint32_t cost_share; /* samples take one part in so many of a CPU; 50 at first */
};

void sample_clock_init(struct sample_clock *clock, uint64_t interval_ns, uint64_t now_ns);

static inline bool sample_clock_is_due(const struct sample_clock *clock, uint64_t now_ns)
{
	return now_ns >= clock->next_ns;
}

/*
 * A sample took that much CPU time. The interval is doubled for each time that every second sample
 * was dropped, and longer where samples would take more than their share.
 */
void sample_clock_taken(struct sample_clock *clock, unsigned int halvings, uint64_t took_ns,
			uint64_t now_ns);

#endif
