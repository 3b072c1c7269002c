/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/loop.h"

#include "base/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)
#define WAIT_MS 5000 /* far more than needed: a bound for a broken loop, not a timing */

struct watcher {
	int calls;
	int result;
	uint32_t events;
	siginfo_t info;
	struct loop_source **victim; /* freed by the callback */
};

static int watch(struct watcher *w)
{
	w->calls++;
	if (w->victim) {
		loop_source_free(*w->victim);
		*w->victim = NULL;
	}
	return w->result;
}

static int on_fd(int fd, uint32_t epoll_events, void *userdata)
{
	struct watcher *w = userdata;

	(void)fd;
	w->events = epoll_events;
	return watch(w);
}

static int on_timer(void *userdata)
{
	return watch(userdata);
}

static int on_signal(const siginfo_t *info, void *userdata)
{
	struct watcher *w = userdata;

	w->info = *info;
	return watch(w);
}

static int ready_fd(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

static void a_ready_descriptor_calls_back_until_it_is_freed(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	_cleanup_close_ int fd = ready_fd();
	struct loop_source *source = NULL;
	struct watcher w = { 0 };

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_fd(loop, fd, EPOLLIN, on_fd, &w, &source), 0);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(w.calls, 2);
	assert_int_equal(w.events, EPOLLIN);
	assert_int_equal(loop_source_wait_for(source, 0), 0);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(w.calls, 2);
	assert_int_equal(loop_source_wait_for(source, EPOLLOUT), 0);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(w.events, EPOLLOUT);
	loop_source_free(source);
	loop_source_free(NULL);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(w.calls, 3);
	assert_true(fcntl(fd, F_GETFD) >= 0); /* still the caller's */
}

static void a_callback_may_free_its_own_source(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	_cleanup_close_ int fd = ready_fd();
	struct loop_source *source = NULL;
	struct watcher w = { .victim = &source };

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_fd(loop, fd, EPOLLIN, on_fd, &w, &source), 0);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(w.calls, 1);
}

/* Both are in one batch, whichever comes first takes the other out of it. */
static void a_source_freed_by_another_one_is_not_called_any_more(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	_cleanup_close_ int fd_a = ready_fd(), fd_b = ready_fd();
	struct loop_source *a = NULL, *b = NULL;
	struct watcher watch_a = { .victim = &b }, watch_b = { .victim = &a };

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_fd(loop, fd_a, EPOLLIN, on_fd, &watch_a, &a), 0);
	assert_int_equal(loop_add_fd(loop, fd_b, EPOLLIN, on_fd, &watch_b, &b), 0);
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(watch_a.calls + watch_b.calls, 1);
}

static void a_negative_result_ends_the_run_and_is_returned(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	_cleanup_close_ int fd_a = ready_fd(), fd_b = ready_fd();
	struct watcher a = { .result = -ENODATA }, b = { .result = -ENODATA };

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_fd(loop, fd_a, EPOLLIN, on_fd, &a, NULL), 0);
	assert_int_equal(loop_add_fd(loop, fd_b, EPOLLIN, on_fd, &b, NULL), 0);
	assert_int_equal(loop_run_once(loop, 0), -ENODATA);
	assert_int_equal(a.calls + b.calls, 1);
	a.result = b.result = 1; /* positive is no error */
	assert_int_equal(loop_run_once(loop, 0), 0);
	assert_int_equal(a.calls + b.calls, 3);
}

static void a_timer_fires_again_and_again_but_not_before_its_interval(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	struct watcher soon = { 0 }, late = { 0 };
	struct loop_source *source = NULL;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_timer(loop, 0, on_timer, &soon, NULL), -EINVAL);
	assert_int_equal(loop_add_timer(loop, MS, on_timer, &soon, &source), 0);
	assert_int_equal(loop_add_timer(loop, 3600000 * MS, on_timer, &late, NULL), 0);
	for (int i = 0; i < 100 && soon.calls < 3; i++)
		assert_int_equal(loop_run_once(loop, WAIT_MS), 0);
	assert_int_equal(soon.calls, 3);
	assert_int_equal(late.calls, 0);
	loop_source_free(source);
	assert_int_equal(loop_run_once(loop, 5), 0);
	assert_int_equal(soon.calls, 3);
}

static bool is_blocked(int signo)
{
	sigset_t now;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	return sigismember(&now, signo);
}

static void a_signal_is_delivered_with_its_sender(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	struct watcher w = { 0 };

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_signal(loop, SIGUSR1, on_signal, &w), 0);
	assert_int_equal(loop_add_signal(loop, SIGUSR1, on_signal, &w), -EEXIST);
	assert_int_equal(loop_add_signal(loop, 4711, on_signal, &w), -EINVAL);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(loop_run_once(loop, WAIT_MS), 0);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.info.si_signo, SIGUSR1);
	assert_int_equal(w.info.si_code, SI_USER);
	assert_int_equal(w.info.si_pid, getpid());
	assert_int_equal(w.info.si_uid, getuid());
}

static void the_end_of_a_child_is_delivered_with_its_status(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	struct watcher w = { 0 };
	pid_t pid;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_signal(loop, SIGCHLD, on_signal, &w), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(37);
	assert_int_equal(loop_run_once(loop, WAIT_MS), 0);
	assert_int_equal(w.info.si_signo, SIGCHLD);
	assert_int_equal(w.info.si_code, CLD_EXITED);
	assert_int_equal(w.info.si_pid, pid);
	assert_int_equal(w.info.si_status, 37);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* SIGUSR1 is pending at the end: its default action would end this program. */
static void the_signal_mask_is_as_before_when_the_loop_is_gone(void **state)
{
	struct loop *loop = NULL;
	struct watcher w = { 0 };
	sigset_t usr2;

	(void)state;
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &usr2, NULL), 0);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_signal(loop, SIGUSR1, on_signal, &w), 0);
	assert_int_equal(loop_add_signal(loop, SIGUSR2, on_signal, &w), 0);
	assert_true(is_blocked(SIGUSR1));
	assert_int_equal(raise(SIGUSR1), 0);
	loop_free(loop);
	assert_false(is_blocked(SIGUSR1));
	assert_true(is_blocked(SIGUSR2));
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &usr2, NULL), 0);
}

static void a_regular_file_and_a_closed_descriptor_are_refused(void **state)
{
	_cleanup_(loop_free_p) struct loop *loop = NULL;
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct watcher w = { 0 };

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(loop_add_fd(loop, fd, EPOLLIN, on_fd, &w, NULL), -EPERM);
	assert_int_equal(loop_add_fd(loop, -1, EPOLLIN, on_fd, &w, NULL), -EBADF);
	assert_int_equal(loop_run_once(loop, 0), 0);
	loop_free(NULL);
}

struct priority {
	int policy, nice;
};

static struct priority own_priority(void)
{
	return (struct priority){ sched_getscheduler(0) & ~SCHED_RESET_ON_FORK,
				  getpriority(PRIO_PROCESS, 0) };
}

struct raised {
	struct loop *loop;
	bool on_one_cpu; /* where no thread may have a deadline, if there are several */
	struct priority before, itself, beside, child;
};

static void *look_beside(void *userdata)
{
	struct raised *raised = userdata;

	loop_lower_priority(raised->loop);
	raised->beside = own_priority();
	return NULL;
}

/* On a thread, which has it alone. */
static void *raise_and_look(void *userdata)
{
	struct raised *raised = userdata;
	cpu_set_t one;
	pthread_t thread;
	int status = 1;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (raised->on_one_cpu)
		raised->on_one_cpu = sched_setaffinity(0, sizeof(one), &one) == 0;
	/* Not 0, which a thread has that one with a deadline creates. */
	if (getpriority(PRIO_PROCESS, 0) == 0)
		(void)!nice(1);
	raised->before = own_priority();
	loop_raise_priority(raised->loop);
	raised->itself = own_priority();
	if (thread_start(&thread, look_beside, raised) == 0)
		pthread_join(thread, NULL);
	pid = fork();
	if (pid == 0)
		_exit(sched_getscheduler(0) == SCHED_OTHER ? 0 : 2);
	if (pid > 0 && waitpid(pid, &status, 0) == pid)
		raised->child.policy = WEXITSTATUS(status);
	return NULL;
}

static void check_raised(bool on_one_cpu, bool is_refused_a_deadline)
{
	const struct priority before = own_priority();
	struct raised raised = { .on_one_cpu = on_one_cpu, .child.policy = -1 };
	pthread_t thread;

	assert_int_equal(loop_new(&raised.loop), 0);
	assert_int_equal(thread_start(&thread, raise_and_look, &raised), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(raised.on_one_cpu, on_one_cpu);
	if (geteuid() == 0)
		assert_true(raised.itself.policy == SCHED_DEADLINE ||
			    raised.itself.nice < raised.before.nice);
	if (is_refused_a_deadline)
		assert_int_equal(raised.itself.policy, before.policy);
	assert_int_equal(raised.beside.policy, before.policy);
	assert_int_equal(raised.beside.nice, raised.before.nice);
	assert_int_equal(raised.child.policy, 0);
	assert_int_equal(own_priority().policy, before.policy);
	loop_free(raised.loop);
}

static void the_loops_priority_is_its_threads_alone(void **state)
{
	(void)state;
	check_raised(false, false);
	check_raised(true, sysconf(_SC_NPROCESSORS_ONLN) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ready_descriptor_calls_back_until_it_is_freed),
		cmocka_unit_test(a_callback_may_free_its_own_source),
		cmocka_unit_test(a_source_freed_by_another_one_is_not_called_any_more),
		cmocka_unit_test(a_negative_result_ends_the_run_and_is_returned),
		cmocka_unit_test(a_timer_fires_again_and_again_but_not_before_its_interval),
		cmocka_unit_test(a_signal_is_delivered_with_its_sender),
		cmocka_unit_test(the_end_of_a_child_is_delivered_with_its_status),
		cmocka_unit_test(the_signal_mask_is_as_before_when_the_loop_is_gone),
		cmocka_unit_test(a_regular_file_and_a_closed_descriptor_are_refused),
		cmocka_unit_test(the_loops_priority_is_its_threads_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
