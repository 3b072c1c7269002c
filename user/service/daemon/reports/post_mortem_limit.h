/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often something may be: some at once, and then one in a while. Plain data, no clock.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_POST_MORTEM_LIMIT_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_POST_MORTEM_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define POST_MORTEM_AT_ONCE 8
#define POST_MORTEM_PAUSE_NS UINT64_C(60000000000)

/* All zero at first. */
struct post_mortem_limit {
	uint64_t full_ns; /* when all of them would be there again */
};

/* May there be one more at this time, which does not run backwards? It is counted, then. */
static inline bool post_mortem_may(struct post_mortem_limit *limit, uint64_t now_ns)
{
	uint64_t from_ns = limit->full_ns > now_ns ? limit->full_ns : now_ns;

	if (from_ns - now_ns > (POST_MORTEM_AT_ONCE - 1) * POST_MORTEM_PAUSE_NS)
		return false;
	limit->full_ns = from_ns + POST_MORTEM_PAUSE_NS;
	return true;
}

#endif
