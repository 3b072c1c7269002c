/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may have how many of the traces that run at once ([trace] max_traces). Users get all but the
 * reserved ones, rules all but one, root all, and root and rules take a slot from a user when none
 * is free. Among users that with the fewest traces is given one of that with the most, if that has
 * two more, or has one more that has run for a while already. slots_choose() decides, on plain
 * data without a clock.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_SLOTS_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACE_SLOTS_H

#include "service/daemon/trace/trace_ask.h"

#include <stddef.h>
#include <stdint.h>

/* So long a trace keeps its slot while others have none. */
#define SLOTS_SHORTEST_NS UINT64_C(30000000000)

enum slot_class { SLOT_USER, SLOT_RULE, SLOT_ROOT };

struct slot {
	enum slot_class class;
	uint64_t user; /* of SLOT_USER: login_users.h */
	uint64_t age_ns;
};

struct slot_limits {
	uint64_t all, reserved;
	uint64_t of_user;
};

#define SLOTS_FREE (-1)

/*
 * For one more trace: 0 with *ret_victim the index of the one in `running` that has to end for it,
 * or SLOTS_FREE; -EBUSY: it is refused.
 */
int slots_choose(const struct slot *running, size_t n, const struct slot_limits *limits,
		 const struct slot *asked, int *ret_victim);

struct traces;

/*
 * The same applied to the traces that run, one of which may end for the new one. 0: there is a
 * slot, for which another trace may have been ended; those who wait for that one are answered with
 * what there is by then. -EBUSY: there is none. -ENOMEM.
 */
int traces_take_slot(struct traces *traces, const struct trace_ask *ask);

#endif
