/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/trace/slots.h"

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
