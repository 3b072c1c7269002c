/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of a target whose tracer is killed, at a stop and at any time: it must end as it
 * would have, and so must all its children. This process adopts them (PR_SET_CHILD_SUBREAPER) and
 * waits.
 */
#include "held_run.h"
#include "hold_targets.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define EXITED(status) ((status) << 8)

enum moment { BEFORE_RELEASE, AT_EVENT, LATER };

struct death {
	const char *target, *arg;
	enum moment moment;
	enum hold_event_type type; /* AT_EVENT: the tracer dies in the callback for the */
	int nth;		   /* nth event of this type; LATER: after so many 100 us */
	int status;		   /* of the target */
};

struct tracer {
	struct held_run run;
	const struct death *death;
	int n_seen;
	int ready_fd; /* gets the target's pid when it is time to die */
};

static void tell_pid(const struct tracer *tracer)
{
	if (write(tracer->ready_fd, &tracer->run.pid, sizeof(pid_t)) != sizeof(pid_t))
		_exit(1);
}

static void wait_for_death(const struct tracer *tracer)
{
	tell_pid(tracer);
	for (;;)
		pause();
}

static int on_event(const struct hold_event *event, void *userdata)
{
	struct tracer *tracer = userdata;
	const struct death *death = tracer->death;

	if (death->moment == AT_EVENT && event->type == death->type &&
	    ++tracer->n_seen == death->nth)
		wait_for_death(tracer);
	return 0;
}

static void run_tracer(const struct death *death, int ready_fd)
{
	struct tracer tracer = { .death = death, .ready_fd = ready_fd };
	char *argv[] = { "/proc/self/exe", (char *)death->target, (char *)death->arg, NULL };

	tracer.run.fn = on_event;
	tracer.run.userdata = &tracer;
	if (death->moment == BEFORE_RELEASE) {
		if (hold_new(on_event, &tracer, &tracer.run.hold) < 0 ||
		    launch_new(&(struct launch_opts){ .argv = argv }, &tracer.run.launch) < 0)
			_exit(1);
		tracer.run.pid = launch_pid(tracer.run.launch);
		if (hold_seize_child(tracer.run.hold, tracer.run.pid) < 0)
			_exit(1);
		wait_for_death(&tracer);
	}
	if (held_run_start(&tracer.run, death->target, death->arg) < 0)
		_exit(1);
	if (death->moment == LATER)
		tell_pid(&tracer);
	if (held_run_finish(&tracer.run) < 0 || held_run_status(&tracer.run) != death->status)
		_exit(1);
	for (;;)
		pause();
}

/* All children, adopted ones too, have ended: nothing is left stopped. */
static void assert_nothing_left(void)
{
	pid_t pid;

	do {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
			assert_int_equal(errno, ECHILD);
			return;
		}
		pid = info.si_pid ? info.si_pid : -1;
		assert_int_not_equal(wait_bounded(pid), -1);
	} while (true);
}

static void die_and_check(const struct death *death)
{
	pid_t tracer, target = 0;
	struct pollfd ready;
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	tracer = fork();
	if (tracer == 0)
		run_tracer(death, ends[1]);
	close(ends[1]);
	ready = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	assert_int_equal(poll(&ready, 1, 20000), 1);
	assert_int_equal(read(ends[0], &target, sizeof(target)), sizeof(target));
	close(ends[0]);
	if (death->moment == LATER) {
		const struct timespec pause = { .tv_nsec = death->nth * 100000L };

		nanosleep(&pause, NULL);
	}
	assert_int_equal(kill(tracer, SIGKILL), 0);
	assert_int_equal(wait_bounded(tracer), SIGKILL);
	status = wait_bounded(target);
	/* By then the tracer, its real parent, may have reaped it. */
	if (status != -1 || death->moment != LATER)
		assert_int_equal(status, death->status);
	assert_nothing_left();
}

static void a_target_outlives_its_tracer_at_every_stop(void **state)
{
	static const struct death deaths[] = {
		{ "forks", NULL, AT_EVENT, HOLD_EXEC, 1, EXITED(0) },
		{ "forks", NULL, AT_EVENT, HOLD_FORK, 1, EXITED(0) },
		{ "forks", NULL, AT_EVENT, HOLD_FORK, 7, EXITED(0) },
		{ "forks", NULL, AT_EVENT, HOLD_EXITED, 3, EXITED(0) },
		{ "vforks", NULL, AT_EVENT, HOLD_FORK, 5, EXITED(0) },
		{ "clones", NULL, AT_EVENT, HOLD_FORK, 5, EXITED(0) },
		{ "spawns", NULL, AT_EVENT, HOLD_EXEC, 4, EXITED(0) },
		{ "thread_execs", NULL, AT_EVENT, HOLD_EXEC, 2, EXITED(4) },
		{ "job_control", NULL, AT_EVENT, HOLD_FORK, 1, EXITED(0) },
		{ "storm", NULL, AT_EVENT, HOLD_FORK, 100, EXITED(0) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
		print_message("# %s, event %d, number %d\n", deaths[i].target, deaths[i].type,
			      deaths[i].nth);
		die_and_check(&deaths[i]);
	}
}

static void a_signal_survives_the_tracer_that_looked_at_it(void **state)
{
	(void)state;
	for (int nth = 1; nth <= 9; nth++)
		die_and_check(&(struct death){ "urgent_socket", "9", AT_EVENT, HOLD_MARK, nth,
					       EXITED(9) });
}

static void a_target_outlives_its_tracer_at_any_time(void **state)
{
	static const char *const targets[] = { "queue", "job_control", "threads", "thread_execs",
					       "storm" };

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct death death = { targets[i], NULL, LATER, 0, 0, EXITED(i == 3 ? 4 : 0) };

		print_message("# %s\n", death.target);
		for (; death.nth < 60; death.nth += 9)
			die_and_check(&death);
	}
}

static void a_target_that_waits_ends_with_its_tracer(void **state)
{
	(void)state;
	die_and_check(&(struct death){ "exit", "3", BEFORE_RELEASE, 0, 0, EXITED(127) });
}

static int adopt_orphans(void **state)
{
	(void)state;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_outlives_its_tracer_at_every_stop),
		cmocka_unit_test(a_signal_survives_the_tracer_that_looked_at_it),
		cmocka_unit_test(a_target_outlives_its_tracer_at_any_time),
		cmocka_unit_test(a_target_that_waits_ends_with_its_tracer),
	};

	hold_target_main(argc, argv);
	return cmocka_run_group_tests(tests, adopt_orphans, NULL);
}
