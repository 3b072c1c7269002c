/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/loop.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define MAX_EVENTS 64
/* Of 20 levels: ten times the weight of what runs as usual. */
#define RAISE_LEVELS 10

/*
 * For sched_setattr(2), which glibc has no function for: struct sched_attr of linux/sched/types.h,
 * whose struct sched_param is glibc's as well.
 */
struct deadline_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

enum source_kind { SOURCE_FD, SOURCE_TIMER, SOURCE_SIGNAL };

struct loop_source {
	struct loop *loop;
	struct loop_source *prev, *next;
	enum source_kind kind;
	int fd; /* a timer's and a signal's own; the caller's for SOURCE_FD */
	int signo;
	union {
		loop_fd_fn fd_fn;
		loop_timer_fn timer_fn;
		loop_signal_fn signal_fn;
	};
	void *userdata;
};

struct loop {
	int epoll_fd;
	bool is_raised;
	int nice_before; /* of the thread that loop_raise_priority() has raised */
	struct loop_source *sources;
	sigset_t blocked; /* what loop_add_signal blocked and was not blocked before */
	/* The batch being run: loop_source_free takes its source out of what is still to come. */
	struct epoll_event events[MAX_EVENTS];
	int n_events;
};

int loop_new(struct loop **ret_loop)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	sigemptyset(&loop->blocked);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0) {
		int r = -errno;

		free(loop);
		return r;
	}
	*ret_loop = loop;
	return 0;
}

/*
 * A quarter of one CPU, whatever else wants it, and more where no other thread has a deadline. What
 * is created by the thread is as usual.
 */
static bool set_deadline_policy(void)
{
	const struct deadline_attr attr = {
		.size = sizeof(attr),
		.policy = SCHED_DEADLINE,
		.flags = SCHED_FLAG_RESET_ON_FORK | SCHED_FLAG_RECLAIM,
		.runtime_ns = 10 * NS_PER_MS,
		.deadline_ns = 40 * NS_PER_MS,
		.period_ns = 40 * NS_PER_MS,
	};

	return syscall(SYS_sched_setattr, 0, &attr, 0) == 0;
}

void loop_raise_priority(struct loop *loop)
{
	int now;

	/* -1 is a level as well; on Linux it is the thread's, setpriority(2). */
	errno = 0;
	now = getpriority(PRIO_PROCESS, 0);
	if (errno != 0)
		return;
	/* By nice levels it comes first among those of its session or cgroup only, sched(7). */
	loop->is_raised =
		set_deadline_policy() || setpriority(PRIO_PROCESS, 0, now - RAISE_LEVELS) == 0;
	loop->nice_before = now;
}

void loop_lower_priority(const struct loop *loop)
{
	/* A thread that one with a deadline creates has level 0, whatever that one had. */
	if (loop->is_raised)
		(void)!setpriority(PRIO_PROCESS, 0, loop->nice_before);
}

void loop_source_free(struct loop_source *source)
{
	struct loop *loop;

	if (!source)
		return;
	loop = source->loop;
	for (int i = 0; i < loop->n_events; i++)
		if (loop->events[i].data.ptr == source)
			loop->events[i].data.ptr = NULL;
	if (source->prev)
		source->prev->next = source->next;
	else
		loop->sources = source->next;
	if (source->next)
		source->next->prev = source->prev;
	/* Fails only where the caller closed its descriptor too early. */
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	if (source->kind != SOURCE_FD)
		close(source->fd);
	free(source);
}

/*
 * Unblocking a signal that is still pending would run its default action, for SIGUSR1 the end of
 * the process. What came in for the loop until its end is dropped with the loop.
 */
static void drain_signals(int fd)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->sources) {
		if (loop->sources->kind == SOURCE_SIGNAL)
			drain_signals(loop->sources->fd);
		loop_source_free(loop->sources);
	}
	(void)pthread_sigmask(SIG_UNBLOCK, &loop->blocked, NULL); /* cannot fail: valid set */
	close(loop->epoll_fd);
	free(loop);
}

/* Enters *init into the loop; on success a timer's or signal's descriptor belongs to the source. */
static int add_source(struct loop *loop, const struct loop_source *init, uint32_t epoll_events,
		      struct loop_source **ret_source)
{
	struct loop_source *source = malloc(sizeof(*source));
	struct epoll_event event = { .events = epoll_events, .data.ptr = source };

	if (!source)
		return -ENOMEM;
	*source = *init;
	source->loop = loop;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0) {
		int r = -errno;

		free(source);
		return r;
	}
	source->prev = NULL;
	source->next = loop->sources;
	if (source->next)
		source->next->prev = source;
	loop->sources = source;
	if (ret_source)
		*ret_source = source;
	return 0;
}

int loop_add_fd(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_fn fn, void *userdata,
		struct loop_source **ret_source)
{
	struct loop_source init = {
		.kind = SOURCE_FD,
		.fd = fd,
		.fd_fn = fn,
		.userdata = userdata,
	};

	return add_source(loop, &init, epoll_events, ret_source);
}

int loop_source_wait_for(struct loop_source *source, uint32_t epoll_events)
{
	struct epoll_event event = { .events = epoll_events, .data.ptr = source };

	return epoll_ctl(source->loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event) < 0 ? -errno :
											  0;
}

int loop_add_timer(struct loop *loop, uint64_t interval_ns, loop_timer_fn fn, void *userdata,
		   struct loop_source **ret_source)
{
	struct timespec interval = {
		.tv_sec = (time_t)(interval_ns / NS_PER_S),
		.tv_nsec = (long)(interval_ns % NS_PER_S),
	};
	struct itimerspec spec = { .it_interval = interval, .it_value = interval };
	_cleanup_close_ int fd = -1;
	struct loop_source init;
	int r;

	if (interval_ns == 0)
		return -EINVAL;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, 0, &spec, NULL) < 0)
		return -errno;
	init = (struct loop_source){
		.kind = SOURCE_TIMER,
		.fd = fd,
		.timer_fn = fn,
		.userdata = userdata,
	};
	r = add_source(loop, &init, EPOLLIN, ret_source);
	if (r == 0)
		(void)TAKE_FD(fd); /* the source has it */
	return r;
}

static bool has_signal(const struct loop *loop, int signo)
{
	for (const struct loop_source *s = loop->sources; s; s = s->next)
		if (s->kind == SOURCE_SIGNAL && s->signo == signo)
			return true;
	return false;
}

int loop_add_signal(struct loop *loop, int signo, loop_signal_fn fn, void *userdata)
{
	_cleanup_close_ int fd = -1;
	struct loop_source init;
	sigset_t set, before;
	int r;

	if (has_signal(loop, signo))
		return -EEXIST;
	sigemptyset(&set);
	if (sigaddset(&set, signo) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	r = -pthread_sigmask(SIG_BLOCK, &set, &before);
	if (r < 0)
		return r;
	init = (struct loop_source){
		.kind = SOURCE_SIGNAL,
		.fd = fd,
		.signo = signo,
		.signal_fn = fn,
		.userdata = userdata,
	};
	r = add_source(loop, &init, EPOLLIN, NULL);
	if (r < 0) {
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* cannot fail: valid set */
		return r;
	}
	if (!sigismember(&before, signo))
		sigaddset(&loop->blocked, signo);
	(void)TAKE_FD(fd); /* the source has it */
	return 0;
}

static int run_timer(const struct loop_source *source)
{
	uint64_t expirations;

	/* EAGAIN: a spurious wake-up, which epoll(7) allows. */
	if (read(source->fd, &expirations, sizeof(expirations)) < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return source->timer_fn(source->userdata);
}

static int run_signal(const struct loop_source *source)
{
	struct signalfd_siginfo in;
	siginfo_t info;

	if (read(source->fd, &in, sizeof(in)) < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	memset(&info, 0, sizeof(info));
	info.si_signo = (int)in.ssi_signo;
	info.si_code = in.ssi_code;
	info.si_pid = (pid_t)in.ssi_pid;
	info.si_uid = in.ssi_uid;
	/* In siginfo_t si_status shares its place with si_value: it is set for its one user. */
	if (info.si_signo == SIGCHLD)
		info.si_status = in.ssi_status;
	return source->signal_fn(&info, source->userdata);
}

static int run_source(const struct loop_source *source, uint32_t epoll_events)
{
	switch (source->kind) {
	case SOURCE_FD:
		return source->fd_fn(source->fd, epoll_events, source->userdata);
	case SOURCE_TIMER:
		return run_timer(source);
	case SOURCE_SIGNAL:
		return run_signal(source);
	}
	return -EINVAL;
}

int loop_fd(const struct loop *loop)
{
	return loop->epoll_fd;
}

int loop_run_once(struct loop *loop, int timeout_ms)
{
	int n = epoll_wait(loop->epoll_fd, loop->events, MAX_EVENTS, timeout_ms);
	int r = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	loop->n_events = n;
	for (int i = 0; i < n && r >= 0; i++) {
		const struct loop_source *source = loop->events[i].data.ptr;

		if (source)
			r = run_source(source, loop->events[i].events);
	}
	loop->n_events = 0;
	return r < 0 ? r : 0;
}
