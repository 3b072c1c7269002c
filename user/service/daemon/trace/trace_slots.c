/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/trace_slots.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/trace/trace_state.h"
#include "service/daemon/trace/traces_cost.h"
#include "target/login_users.h"

#include <errno.h>
#include <stdbool.h>

static uint64_t count_class(const struct slot *running, size_t n, enum slot_class class)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += running[i].class == class;
	return count;
}

static uint64_t count_user(const struct slot *running, size_t n, uint64_t user)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += running[i].class == SLOT_USER && running[i].user == user;
	return count;
}

/* The oldest trace of the user who has most; SLOTS_FREE: users have none. */
static int find_victim(const struct slot *running, size_t n, uint64_t *ret_count)
{
	int victim = SLOTS_FREE;
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t count;

		if (running[i].class != SLOT_USER)
			continue;
		count = count_user(running, n, running[i].user);
		if (count < most || (count == most && running[i].age_ns <= running[victim].age_ns))
			continue;
		most = count;
		victim = (int)i;
	}
	*ret_count = most;
	return victim;
}

static uint64_t most_of_users(const struct slot_limits *limits)
{
	return limits->all > limits->reserved ? limits->all - limits->reserved : 1;
}

static uint64_t most_of_rules(const struct slot_limits *limits)
{
	return limits->all > 1 ? limits->all - 1 : 1;
}

static int choose_for_user(const struct slot *running, size_t n, const struct slot_limits *limits,
			   const struct slot *asked, int *ret_victim)
{
	uint64_t own = count_user(running, n, asked->user), most;
	int victim;

	if (own >= limits->of_user)
		return -EBUSY;
	*ret_victim = SLOTS_FREE;
	if (n < limits->all && count_class(running, n, SLOT_USER) < most_of_users(limits))
		return 0;
	victim = find_victim(running, n, &most);
	if (victim == SLOTS_FREE || most <= own ||
	    (most == own + 1 && running[victim].age_ns < SLOTS_SHORTEST_NS))
		return -EBUSY;
	*ret_victim = victim;
	return 0;
}

int slots_choose(const struct slot *running, size_t n, const struct slot_limits *limits,
		 const struct slot *asked, int *ret_victim)
{
	uint64_t most;
	int victim;

	if (asked->class == SLOT_USER)
		return choose_for_user(running, n, limits, asked, ret_victim);
	if (asked->class == SLOT_RULE &&
	    count_class(running, n, SLOT_RULE) >= most_of_rules(limits))
		return -EBUSY;
	*ret_victim = SLOTS_FREE;
	if (n < limits->all)
		return 0;
	victim = find_victim(running, n, &most);
	if (victim == SLOTS_FREE)
		return -EBUSY;
	*ret_victim = victim;
	return 0;
}

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
