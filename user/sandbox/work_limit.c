/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/work_limit.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>

/*
 * What real files take is below a fifth of it (docs/hacking/sandbox.md). Files may have holes of
 * any size, so there is an upper bound: debug information of 4 GiB, the most that is read, takes
 * 20 s.
 */
#define LEAST_NS (2 * SECOND_NS)
#define MIB_NS (SECOND_NS / 20)
#define MOST_NS (40 * SECOND_NS)

/* On a busy machine a process gets a fifth of a CPU, say. */
#define WAIT_FACTOR 5
#define MOST_WAIT_NS (60 * SECOND_NS)

#define NS_PER_US 1000

uint64_t work_limit_ns(const int *fds, size_t n_fds)
{
	uint64_t limit_ns = LEAST_NS;

	for (size_t i = 0; i < n_fds; i++) {
		struct statx st;

		/* As it is known: a file system that is asked may not answer. */
		if (statx(fds[i], "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &st) < 0)
			continue;
		if (st.stx_size >> 20 >= (MOST_NS - limit_ns) / MIB_NS)
			return MOST_NS;
		limit_ns += (st.stx_size >> 20) * MIB_NS;
	}
	return limit_ns;
}

uint64_t work_wait_ns(uint64_t limit_ns)
{
	uint64_t wait_ns = limit_ns * WAIT_FACTOR;

	return wait_ns < MOST_WAIT_NS ? wait_ns : MOST_WAIT_NS;
}

void work_limit_set(uint64_t limit_ns)
{
	const struct itimerval timer = {
		.it_value = { (time_t)(limit_ns / SECOND_NS),
			      (suseconds_t)(limit_ns % SECOND_NS / NS_PER_US) },
	};

	(void)setitimer(ITIMER_PROF, &timer, NULL); /* cannot fail with valid times */
}
