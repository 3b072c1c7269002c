/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks as nanoseconds. Header only.
 */
#ifndef MEMTRACED_BASE_CLOCK_H
#define MEMTRACED_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS UINT64_C(1000000)

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/*
 * For how long the machine has been asleep since its boot, in ns: from *ret_least to *ret_most, as
 * the two clocks that tell are not read at once.
 */
static inline void clock_asleep(int64_t *ret_least, int64_t *ret_most)
{
	int64_t before = (int64_t)clock_ns(CLOCK_MONOTONIC);
	int64_t boot = (int64_t)clock_ns(CLOCK_BOOTTIME);

	*ret_least = boot - (int64_t)clock_ns(CLOCK_MONOTONIC);
	*ret_most = boot - before;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * What others can have us do again and again takes two seconds at once, and then a twentieth of the
 * time; paid_ns says until when it is paid for by that. May it be done? Times are CLOCK_MONOTONIC.
 */
#define CLOCK_SHARE UINT64_C(20)

static inline bool clock_share_is_left(uint64_t paid_ns, uint64_t now_ns)
{
	return paid_ns < now_ns + CLOCK_SHARE * 2 * SECOND_NS;
}

/* After it was done: the new paid_ns. */
static inline uint64_t clock_share_pay(uint64_t paid_ns, uint64_t began_ns, uint64_t ended_ns)
{
	return (paid_ns > began_ns ? paid_ns : began_ns) + CLOCK_SHARE * (ended_ns - began_ns);
}

/*
 * Until then, as poll(2) takes it: rounded up, so that it is over; at most 1000 s, after which who
 * waits asks again. UINT64_MAX, which never comes: -1.
 */
static inline int clock_until_ms(uint64_t then_ns, uint64_t now_ns)
{
	uint64_t ms = then_ns > now_ns ? (then_ns - now_ns) / MS_NS + 1 : 0;

	if (then_ns == UINT64_MAX)
		return -1;
	return ms < 1000000 ? (int)ms : 1000000;
}

#endif
