/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "held_run.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#define LIMIT_MS 20000

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int note(const struct hold_event *event, void *userdata)
{
	struct held_run *run = userdata;
	int r = vec_push(&run->events, *event);

	if (r < 0)
		return r;
	if (hold_threads(run->hold) > run->max_threads)
		run->max_threads = hold_threads(run->hold);
	return run->fn ? run->fn(event, run->userdata) : 0;
}

int held_run_start(struct held_run *run, const char *target, const char *arg)
{
	char *argv[] = { "/proc/self/exe", (char *)target, (char *)arg, NULL };
	const struct launch_opts opts = { .argv = argv, .run_as = run->run_as };
	int r;

	r = hold_new(note, run, &run->hold);
	if (r == 0)
		hold_watch_exits(run->hold, run->exits);
	if (r == 0 && run->tell_threads)
		hold_tell_threads(run->hold);
	if (r == 0)
		r = launch_new(&opts, &run->launch);
	if (r < 0)
		return r;
	run->pid = launch_pid(run->launch);
	r = hold_seize_child(run->hold, run->pid);
	return r < 0 ? r : launch_release(run->launch);
}

/* Until a SIGCHLD comes, or for the time given. */
static void wait_for_child(long ms)
{
	const struct timespec timeout = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigtimedwait(&set, NULL, &timeout);
}

static int dispatch_until(struct held_run *run, long end_ms, bool to_the_end)
{
	sigset_t set, before;
	int r = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	while (r == 0) {
		long left = end_ms - now_ms();

		r = hold_dispatch(run->hold);
		if (r < 0 || left <= 0 || (to_the_end && hold_threads(run->hold) == 0))
			break;
		wait_for_child(left);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int held_run_finish(struct held_run *run)
{
	int r = dispatch_until(run, now_ms() + LIMIT_MS, true);

	if (r < 0)
		return r;
	return hold_threads(run->hold) > 0 ? -ETIMEDOUT : 0;
}

int held_run_dispatch(struct held_run *run, long ms)
{
	return dispatch_until(run, now_ms() + ms, false);
}

size_t held_run_count(const struct held_run *run, enum hold_event_type type, bool of_target)
{
	size_t n = 0;

	vec_foreach(&run->events, event)
		n += event->type == type && (event->pid == run->pid) == of_target;
	return n;
}

int held_run_status(const struct held_run *run)
{
	int status = -1;

	if (held_run_count(run, HOLD_EXITED, true) != 1)
		return -1;
	vec_foreach(&run->events, event) {
		if (event->type == HOLD_EXITED && event->pid == run->pid)
			status = event->status;
	}
	return status;
}

void held_run_done(struct held_run *run)
{
	hold_free(run->hold);
	launch_free(run->launch);
	vec_done(&run->events);
	*run = (struct held_run){ 0 };
}

int wait_bounded(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 500000 };
	long end_ms = now_ms() + LIMIT_MS;

	while (now_ms() < end_ms) {
		int status;
		pid_t found = waitpid(pid, &status, WNOHANG | __WALL);

		if (found > 0)
			return status;
		if (found < 0 && errno != EINTR)
			return -1;
		nanosleep(&pause, NULL);
	}
	return -1;
}
