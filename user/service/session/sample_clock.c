/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/sample_clock.h"

#define COST_SHARE 50U
#define LONGEST_NS (24 * 3600 * 1000000000ULL)

static void set_next(struct sample_clock *clock, uint64_t interval_ns, uint64_t now_ns)
{
	/* Knuth's MMIX generator; its high bits are good enough to spread moments. */
	clock->random = clock->random * 6364136223846793005ULL + 1442695040888963407ULL;
	clock->next_ns = now_ns + interval_ns * 3 / 4;
	clock->next_ns += (clock->random >> 8) % (interval_ns / 2 + 1);
}

void sample_clock_init(struct sample_clock *clock, uint64_t interval_ns, uint64_t now_ns)
{
	if (interval_ns > LONGEST_NS)
		interval_ns = LONGEST_NS;
	*clock = (struct sample_clock){ .interval_ns = interval_ns, .cost_share = COST_SHARE };
	set_next(clock, interval_ns, now_ns);
}

void sample_clock_taken(struct sample_clock *clock, unsigned int halvings, uint64_t took_ns,
			uint64_t now_ns)
{
	uint64_t interval_ns = clock->interval_ns;

	while (halvings-- && interval_ns < LONGEST_NS)
		interval_ns *= 2;
	if (took_ns > LONGEST_NS / clock->cost_share)
		took_ns = LONGEST_NS / clock->cost_share;
	if (interval_ns < took_ns * clock->cost_share)
		interval_ns = took_ns * clock->cost_share;
	set_next(clock, interval_ns, now_ns);
}
