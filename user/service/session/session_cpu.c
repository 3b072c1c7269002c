/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of the processes of a session, which shares of cost are of. Where all processes of
 * the host run into the probes, it is the host's: what ends takes its own with it, and what is not
 * counted pays as well.
 */
#include "base/clock.h"
#include "service/session/session_state.h"
#include "target/cpu_time.h"

#include <sys/resource.h>

/* CPU time of what we have waited for: a command that has ended. */
static uint64_t waited_ns(void)
{
	struct rusage used;

	(void)getrusage(RUSAGE_CHILDREN, &used); /* cannot fail */
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SECOND_NS +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

void session_cpu_begin(struct session *s)
{
	s->waited_ns = waited_ns();
}

/* What was there once is not taken back: what has ended and is not waited for yet is in neither. */
uint64_t session_used_cpu_ns(struct session *s)
{
	uint64_t sum = 0, one;
	size_t index = 0;
	pid_t pid;

	if (options_trace_widely(s->options))
		return cpu_time_of_host(&sum) < 0 ? 0 : sum;
	while ((pid = live_next_pid(s->live, &index)) != 0)
		if (cpu_time_of(pid, &one) == 0) /* else it has just ended */
			sum += one;
	if (s->child_status >= 0)
		sum += waited_ns() - s->waited_ns;
	if (sum > s->most_cpu_ns)
		s->most_cpu_ns = sum;
	return s->most_cpu_ns;
}
