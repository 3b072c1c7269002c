/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/urgent.h"

#include <bpf/bpf.h>

struct urgent urgent_begin(void)
{
	const struct sched_param lowest = { .sched_priority = 1 };
	struct urgent urgent = { .policy = sched_getscheduler(0) };
	int policy = urgent.policy & ~SCHED_RESET_ON_FORK;

	if (urgent.policy < 0 || policy == SCHED_FIFO || policy == SCHED_RR ||
	    policy == SCHED_DEADLINE || sched_getparam(0, &urgent.param) ||
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest))
		urgent.policy = -1;
	return urgent;
}

void urgent_end(struct urgent *urgent)
{
	/* What we had we may go back to. */
	if (urgent->policy >= 0)
		(void)sched_setscheduler(0, urgent->policy, &urgent->param);
}

int urgent_lookup(int map_fd, const void *key, void *value)
{
	_urgent_;

	return bpf_map_lookup_elem(map_fd, key, value);
}

int urgent_update(int map_fd, const void *key, const void *value)
{
	_urgent_;

	return bpf_map_update_elem(map_fd, key, value, BPF_ANY);
}

int urgent_add(int map_fd, const void *key, const void *value)
{
	_urgent_;

	return bpf_map_update_elem(map_fd, key, value, BPF_NOEXIST);
}

int urgent_delete(int map_fd, const void *key)
{
	_urgent_;

	return bpf_map_delete_elem(map_fd, key);
}
