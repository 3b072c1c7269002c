/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/thread_numbers.h"

/* A program may begin threads for as long as it runs. */
#define MOST 65536

int thread_numbers_add(struct thread_numbers *numbers, pid_t pid, pid_t tid, uint32_t number)
{
	const struct thread_number added = { pid, tid, number };

	if (numbers->all.len < MOST)
		return vec_push(&numbers->all, added);
	numbers->all.data[numbers->oldest] = added;
	numbers->oldest = (numbers->oldest + 1) % MOST;
	return 0;
}

uint32_t thread_numbers_find(const struct thread_numbers *numbers, pid_t pid, pid_t tid)
{
	size_t n = numbers->all.len;

	if (tid == pid)
		return 1;
	/* The newest first: the kernel gives ids again. */
	for (size_t i = 1; i <= n; i++) {
		const struct thread_number *at = &numbers->all.data[(numbers->oldest + n - i) % n];

		if (at->tid == tid && at->pid == pid)
			return at->number;
	}
	return 0;
}

void thread_numbers_done(struct thread_numbers *numbers)
{
	vec_done(&numbers->all);
}
