/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/traces_slots.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/trace/slots.h"
#include "service/daemon/trace/trace_state.h"
#include "service/daemon/trace/traces_cost.h"
#include "target/login_users.h"

#include <errno.h>

static struct slot slot_of(const struct traces *traces, uid_t uid, bool is_rules)
{
	return (struct slot){ .class = is_rules ? SLOT_RULE :
				       uid == 0 ? SLOT_ROOT :
						  SLOT_USER,
			      .user = login_users_find(traces->opts.users, uid) };
}

/* One that is over is answered next, unless its thread hangs. */
static bool has_slot(const struct trace *trace)
{
	return !trace->has_ended && !trace->standing && !trace->stopped;
}

static void pre_empt(struct traces *traces, struct trace *trace, const struct trace_ask *ask)
{
	trace_stop(trace);
	trace->pre_empted = true;
	traces->pre_empted++;
	log_info("process %d (%s): the trace of user %u ends early, to make room for one of user "
		 "%u ([trace] max_traces)",
		 (int)trace->pid, trace->info.comm, (unsigned int)trace->uid,
		 (unsigned int)ask->uid);
}

int traces_take_slot(struct traces *traces, const struct trace_ask *ask)
{
	const struct slot_limits limits = { .all = traces->config->max_traces,
					    .reserved = traces->config->reserved_traces,
					    .of_user = traces->config->max_traces_of_user };
	const struct slot asked = slot_of(traces, ask->uid, ask->is_rules);
	uint64_t now_ns = clock_monotonic_ns();
	_cleanup_free_ struct trace **with_slot = calloc(traces->list.len + 1, sizeof(*with_slot));
	_cleanup_free_ struct slot *running = calloc(traces->list.len + 1, sizeof(*running));
	size_t n = 0;
	int victim, r;

	if (!running || !with_slot)
		return -ENOMEM;
	/* Those that are over, but hang, keep their memory. */
	if (ask->uid != 0 && traces->list.len >= 2 * limits.all)
		return -EBUSY;
	vec_foreach(&traces->list, trace) {
		if (!has_slot(*trace))
			continue;
		running[n] = slot_of(traces, (*trace)->uid, (*trace)->is_rules);
		running[n].age_ns = now_ns - (*trace)->asked_ns;
		with_slot[n++] = *trace;
	}
	r = slots_choose(running, n, &limits, &asked, &victim);
	if (r == 0 && victim != SLOTS_FREE)
		pre_empt(traces, with_slot[victim], ask);
	return r;
}
