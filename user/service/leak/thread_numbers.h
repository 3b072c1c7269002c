/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads of processes by the order in which they began, as reports in Valgrind's form name them.
 * Threads that have ended stay known, the newest ones. One thread.
 */
#ifndef MEMTRACED_SERVICE_LEAK_THREAD_NUMBERS_H
#define MEMTRACED_SERVICE_LEAK_THREAD_NUMBERS_H

#include "base/vec.h"

#include <stdint.h>
#include <sys/types.h>

struct thread_number {
	pid_t pid, tid;
	uint32_t number;
};

/* All 0: none is known. */
struct thread_numbers {
	VEC(struct thread_number) all;
	size_t oldest; /* its place, which the next one takes; 0 unless there are many */
};

/* 0 or -ENOMEM. */
int thread_numbers_add(struct thread_numbers *numbers, pid_t pid, pid_t tid, uint32_t number);
/* 1 of a process's first thread; 0: not known. */
uint32_t thread_numbers_find(const struct thread_numbers *numbers, pid_t pid, pid_t tid);
void thread_numbers_done(struct thread_numbers *numbers);

#endif
