/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * To be preloaded to memtraced: time goes FAST_CLOCK times as fast as it does since the moment
 * FAST_CLOCK_START (ns of CLOCK_MONOTONIC), for clocks, for timers and for what waits in epoll. CPU
 * time stays what it is, and so do sleeps and what waits in poll for other processes: these are no
 * faster.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static int64_t number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoll(text, NULL, 10) : 0;
}

/* 1 where nothing is said, as before there is an environment. */
static int64_t factor(void)
{
	int64_t n = environ ? number("FAST_CLOCK") : 0;

	return n > 0 ? n : 1;
}

static int64_t now(clockid_t clock)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, clock, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int64_t ns;

	if (syscall(SYS_clock_gettime, clock, ts) < 0)
		return -1;
	if (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || factor() == 1)
		return 0;
	ns = ts->tv_sec * SECOND + ts->tv_nsec +
	     (now(CLOCK_MONOTONIC) - number("FAST_CLOCK_START")) * (factor() - 1);
	*ts = (struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

/* At least a millisecond, of what is not 0 and not for ever. */
int epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	if (ms > 0)
		ms = ms / factor() > 1 ? (int)(ms / factor()) : 1;
	return (int)syscall(SYS_epoll_pwait, fd, events, n, ms, NULL, 0);
}

static struct timespec faster(struct timespec ts)
{
	int64_t ns = ts.tv_sec * SECOND + ts.tv_nsec;

	ns = ns > factor() ? ns / factor() : ns > 0;
	return (struct timespec){ .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };
}

/* Of times from now on: memtraced has no others. */
int timerfd_settime(int fd, int flags, const struct itimerspec *spec, struct itimerspec *ret_old)
{
	const struct itimerspec fast = { faster(spec->it_interval), faster(spec->it_value) };

	return (int)syscall(SYS_timerfd_settime, fd, flags, &fast, ret_old);
}
