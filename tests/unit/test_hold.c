/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hold/hold.h"

#include "held_run.h"
#include "hold_targets.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define EXITED(status) ((status) << 8)

static int let_go_at_birth(const struct hold_event *event, void *userdata)
{
	(void)userdata;
	return event->type == HOLD_FORK;
}

static int let_go_at_exec(const struct hold_event *event, void *userdata)
{
	const struct held_run *run = userdata;

	return event->type == HOLD_EXEC && event->pid != run->pid;
}

static void a_target_runs_as_if_nobody_traced(void **state)
{
	static const struct {
		const char *target, *arg;
		int status;
	} rows[] = {
		{ "exit", "0", EXITED(0) },	     { "exit", "42", EXITED(42) },
		{ "signal", "15", SIGTERM },	     { "signal", "9", SIGKILL },
		{ "forks", NULL, EXITED(0) },	     { "vforks", NULL, EXITED(0) },
		{ "spawns", NULL, EXITED(0) },	     { "clones", NULL, EXITED(0) },
		{ "threads", NULL, EXITED(0) },	     { "leader_leaves", NULL, EXITED(6) },
		{ "thread_execs", NULL, EXITED(4) }, { "queue", NULL, EXITED(0) },
		{ "job_control", NULL, EXITED(0) },  { "urgent_kill", "7", EXITED(7) },
		{ "urgent_socket", "7", EXITED(7) }, { "kill_forkers", NULL, EXITED(0) },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		bool keep = i % 2;
		struct held_run run = { .fn = keep ? NULL : let_go_at_birth };

		print_message("# %s, %s children\n", rows[i / 2].target, keep ? "with" : "without");
		assert_int_equal(held_run_start(&run, rows[i / 2].target, rows[i / 2].arg), 0);
		assert_int_equal(held_run_finish(&run), 0);
		assert_int_equal(held_run_status(&run), rows[i / 2].status);
		held_run_done(&run);
	}
}

static void every_child_is_reported_from_birth_to_end(void **state)
{
	static const struct {
		const char *target;
		size_t n_children, n_execs;
	} rows[] = {
		{ "forks", TARGET_CHILDREN, 0 },
		{ "vforks", TARGET_CHILDREN, 0 },
		{ "spawns", TARGET_CHILDREN, TARGET_CHILDREN },
		{ "clones", TARGET_CHILDREN, 0 },
		{ "threads", 0, 0 },
		{ "job_control", 1, 0 },
		{ "storm", TARGET_STORM_PARENTS * (1 + TARGET_STORM_CHILDREN), 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct held_run run = { 0 };

		print_message("# %s\n", rows[i].target);
		assert_int_equal(held_run_start(&run, rows[i].target, NULL), 0);
		assert_int_equal(held_run_finish(&run), 0);
		assert_int_equal(held_run_status(&run), 0);
		assert_int_equal(held_run_count(&run, HOLD_EXEC, true), 1);
		assert_int_equal(held_run_count(&run, HOLD_FORK, true), 0);
		assert_int_equal(held_run_count(&run, HOLD_FORK, false), rows[i].n_children);
		assert_int_equal(held_run_count(&run, HOLD_EXEC, false), rows[i].n_execs);
		assert_int_equal(held_run_count(&run, HOLD_EXITED, false), rows[i].n_children);
		assert_int_equal(run.events.data[0].type, HOLD_EXEC);
		held_run_done(&run);
	}
}

static void a_child_is_told_with_its_parent_and_before_its_other_events(void **state)
{
	struct held_run run = { 0 };
	pid_t child = 0;

	(void)state;
	assert_int_equal(held_run_start(&run, "spawns", NULL), 0);
	assert_int_equal(held_run_finish(&run), 0);
	vec_foreach(&run.events, event) {
		if (event->pid == run.pid)
			continue;
		assert_int_equal(event->tid, event->pid);
		switch (event->type) {
		case HOLD_FORK:
			assert_int_equal(child, 0);
			assert_int_equal(event->parent, run.pid);
			child = event->pid;
			break;
		case HOLD_EXITED:
			assert_int_equal(event->status, EXITED(3));
			assert_int_equal(event->pid, child);
			child = 0;
			break;
		default:
			assert_int_equal(event->pid, child);
			break;
		}
	}
	held_run_done(&run);
}

static void a_child_that_is_not_wanted_is_let_go_at_its_birth(void **state)
{
	static const char *const targets[] = { "forks", "vforks", "spawns", "clones" };

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct held_run run = { .fn = let_go_at_birth };

		assert_int_equal(held_run_start(&run, targets[i], NULL), 0);
		assert_int_equal(held_run_finish(&run), 0);
		assert_int_equal(held_run_status(&run), 0);
		assert_int_equal(held_run_count(&run, HOLD_FORK, false), TARGET_CHILDREN);
		assert_int_equal(run.events.len, 2 + TARGET_CHILDREN);
		held_run_done(&run);
	}
}

static void a_child_that_is_not_wanted_is_let_go_at_its_exec(void **state)
{
	struct held_run run = { .fn = let_go_at_exec, .userdata = &run };

	(void)state;
	assert_int_equal(held_run_start(&run, "spawns", NULL), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(held_run_status(&run), 0);
	assert_int_equal(held_run_count(&run, HOLD_FORK, false), TARGET_CHILDREN);
	assert_int_equal(held_run_count(&run, HOLD_EXEC, false), TARGET_CHILDREN);
	assert_int_equal(held_run_count(&run, HOLD_EXITED, false), 0);
	held_run_done(&run);
}

static void an_exec_by_another_thread_names_both_of_its_tids(void **state)
{
	struct held_run run = { 0 };
	const struct hold_event *exec;

	(void)state;
	assert_int_equal(held_run_start(&run, "thread_execs", NULL), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(run.events.len, 3);
	exec = &run.events.data[0];
	assert_int_equal(exec->type, HOLD_EXEC);
	assert_int_equal(exec->old_tid, run.pid);
	exec = &run.events.data[1];
	assert_int_equal(exec->type, HOLD_EXEC);
	assert_int_equal(exec->pid, run.pid);
	assert_int_equal(exec->tid, run.pid);
	assert_int_not_equal(exec->old_tid, run.pid);
	assert_int_equal(run.max_threads, 1); /* at each event: the others had ended */
	held_run_done(&run);
}

/* The exec ends the first thread, whose id the caller then has: it has not ended, nor has the rest.
 */
static void the_end_of_an_image_by_another_threads_exec_is_told_once_and_last(void **state)
{
	struct held_run run = { .exits = HOLD_EXITS_ALL };
	const struct hold_event *exiting;

	(void)state;
	assert_int_equal(held_run_start(&run, "thread_execs", "threads"), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(held_run_status(&run), 0);
	assert_int_equal(held_run_count(&run, HOLD_EXITING, true), 1);
	exiting = &run.events.data[run.events.len - 2];
	assert_int_equal(exiting->type, HOLD_EXITING);
	assert_int_equal(exiting->tid, run.pid); /* by its exit, not by that of another thread */
	held_run_done(&run);
}

/* Until it has made a stop that is not handled yet. */
static void wait_for_stop(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	siginfo_t info = { 0 };

	for (int i = 0; i < 20000 && info.si_pid == 0; i++) {
		assert_int_equal(waitid(P_PID, (id_t)pid, &info,
					WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD),
				 0);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(info.si_pid, pid);
}

struct births {
	struct held_run run;
	int go_fd;	  /* closed: the target's first child ends, its third is born */
	pid_t first_born; /* ends after the second has */
	pid_t killed;
};

/*
 * Stops are handled from the newest process on: here between the first stop of the third child and
 * its parent's event.
 */
static int kill_before_its_origin_is_known(const struct hold_event *event, void *userdata)
{
	struct births *births = userdata;
	unsigned long tid;

	if (event->type == HOLD_FORK && births->first_born == 0)
		births->first_born = event->pid;
	if (event->type != HOLD_EXITING || event->pid == births->run.pid)
		return 0;
	if (event->pid != births->first_born) {
		close(births->go_fd);
		wait_for_stop(births->first_born);
		wait_for_stop(births->run.pid);
		assert_int_equal(ptrace(PTRACE_GETEVENTMSG, births->run.pid, NULL, &tid), 0);
		births->killed = (pid_t)tid;
		wait_for_stop(births->killed);
		return 0;
	}
	assert_true(births->killed > 0);
	assert_int_equal(kill(births->killed, SIGKILL), 0);
	wait_for_stop(births->killed);
	return 0;
}

static void a_child_can_be_killed_before_its_origin_is_known(void **state)
{
	struct births births = { .run = { .fn = kill_before_its_origin_is_known,
					  .userdata = &births,
					  .exits = HOLD_EXITS_ALL } };
	char read_fd[16];
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[0], F_SETFD, 0), 0);
	births.go_fd = ends[1];
	snprintf(read_fd, sizeof(read_fd), "%d", ends[0]);
	assert_int_equal(held_run_start(&births.run, "late_child", read_fd), 0);
	close(ends[0]);
	assert_int_equal(held_run_finish(&births.run), 0);
	assert_int_equal(held_run_status(&births.run), 0);
	assert_int_not_equal(births.killed, 0);
	assert_int_equal(hold_threads(births.run.hold), 0);
	held_run_done(&births.run);
}

/* Of which one executes a program: its threads are numbered anew. */
static void threads_are_told_in_the_order_in_which_they_began(void **state)
{
	struct held_run run = { .tell_threads = true };
	uint32_t number = 1, images = 0;

	(void)state;
	assert_int_equal(held_run_start(&run, "thread_execs", "threads"), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(held_run_status(&run), 0);
	vec_foreach(&run.events, event) {
		if (event->type == HOLD_EXEC) {
			number = 1;
			images++;
		}
		if (event->type != HOLD_THREAD)
			continue;
		assert_int_equal(event->number, ++number);
		assert_int_not_equal(event->tid, run.pid);
	}
	assert_int_equal(images, 2);
	assert_int_equal(number, 1 + TARGET_THREADS);
	held_run_done(&run);
	run = (struct held_run){ 0 };
	assert_int_equal(held_run_start(&run, "threads", NULL), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(held_run_count(&run, HOLD_THREAD, true), 0);
	held_run_done(&run);
}

static int take_all(const struct hold_event *event, void *userdata)
{
	(void)userdata;
	return event->type == HOLD_MARK;
}

static void a_mark_is_suppressed_only_when_the_callback_takes_it(void **state)
{
	static const struct {
		const char *target;
		hold_fn fn;
		size_t marks;
		int delivered;
	} rows[] = {
		{ "urgent_socket", NULL, 9, 9 },
		{ "urgent_socket", take_all, 9, 0 },
		{ "urgent_kill", take_all, 0, 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct held_run run = { .fn = rows[i].fn };

		assert_int_equal(held_run_start(&run, rows[i].target, "9"), 0);
		assert_int_equal(held_run_finish(&run), 0);
		assert_int_equal(held_run_status(&run), EXITED(rows[i].delivered));
		assert_int_equal(held_run_count(&run, HOLD_MARK, true), rows[i].marks);
		assert_int_equal(hold_signals_passed(run.hold), rows[i].delivered);
		held_run_done(&run);
	}
}

static int check_stopped(const struct hold_event *event, void *userdata)
{
	struct process_info info;
	char path[64], state = 0;
	FILE *file;

	(void)userdata;
	if (event->type == HOLD_EXITED)
		return process_info_read(event->pid, &info) == -ESRCH || info.zombie ? 0 : -EBUSY;
	snprintf(path, sizeof(path), "/proc/%d/stat", event->tid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state == 't' ? 0 : -EBUSY;
}

static void a_thread_stays_stopped_during_the_callback(void **state)
{
	struct held_run run = { .fn = check_stopped };

	(void)state;
	assert_int_equal(held_run_start(&run, "spawns", NULL), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(held_run_status(&run), 0);
	held_run_done(&run);
}

static int fail_at_forks(const struct hold_event *event, void *userdata)
{
	(void)userdata;
	return event->type == HOLD_FORK ? -EXDEV : 0;
}

static void a_failing_callback_ends_the_dispatch_but_not_the_target(void **state)
{
	struct held_run run = { .fn = fail_at_forks };
	int n_failures = 0, r;

	(void)state;
	assert_int_equal(held_run_start(&run, "forks", NULL), 0);
	while ((r = held_run_finish(&run)) == -EXDEV)
		n_failures++;
	assert_int_equal(r, 0);
	assert_int_equal(n_failures, TARGET_CHILDREN);
	assert_int_equal(held_run_status(&run), 0);
	held_run_done(&run);
}

/* A target inherits the end to read, by this number, and goes on when the other is closed. */
static void pipe_to_target(int fds[2], char number[12])
{
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETFD, FD_CLOEXEC), 0);
	(void)snprintf(number, 12, "%d", fds[0]);
}

static void a_stopped_target_makes_no_progress_until_it_is_continued(void **state)
{
	struct held_run run = { 0 };
	char number[12];
	int fds[2];

	(void)state;
	pipe_to_target(fds, number);
	assert_int_equal(held_run_start(&run, "reads", number), 0);
	assert_int_equal(held_run_dispatch(&run, 5), 0);
	assert_int_equal(kill(run.pid, SIGSTOP), 0);
	for (int i = 0; i < 2000 && held_run_count(&run, HOLD_STOPPED, true) == 0; i++)
		assert_int_equal(held_run_dispatch(&run, 10), 0);
	close(fds[1]);
	assert_int_equal(held_run_dispatch(&run, 100), 0);
	assert_int_equal(hold_threads(run.hold), 1);
	assert_int_equal(run.events.data[run.events.len - 1].status, SIGSTOP);
	assert_int_equal(kill(run.pid, SIGCONT), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(held_run_status(&run), 0);
	assert_int_equal(held_run_count(&run, HOLD_STOPPED, true), 1);
	held_run_done(&run);
	close(fds[0]);
}

static void freeing_the_hold_lets_go_in_any_state(void **state)
{
	static const long after_ms[] = { 0, 1, 5, 50 };

	(void)state;
	for (size_t i = 0; i < sizeof(after_ms) / sizeof(after_ms[0]); i++) {
		struct held_run run = { 0 };
		struct process_info info;
		char number[12];
		int fds[2];

		pipe_to_target(fds, number);
		assert_int_equal(held_run_start(&run, "all_states", number), 0);
		assert_int_equal(held_run_dispatch(&run, after_ms[i]), 0);
		hold_free(run.hold);
		run.hold = NULL;
		assert_int_equal(process_info_read(run.pid, &info), 0);
		assert_int_equal(info.tracer, 0);
		close(fds[1]);
		assert_int_equal(wait_bounded(run.pid), 0);
		held_run_done(&run);
		close(fds[0]);
	}
}

static void copy_self(const char *path)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	assert_true(in >= 0 && out >= 0);
	while (sendfile(out, in, NULL, 1 << 24) > 0)
		;
	assert_int_equal(fchmod(out, 04755), 0);
	close(in);
	close(out);
}

static void a_set_user_id_program_keeps_its_privileges(void **state)
{
	struct held_run run = { .run_as = "nobody" };
	char path[64];
	struct statvfs fs;

	(void)state;
	if (geteuid() != 0 || !getpwnam("nobody") || statvfs("/tmp", &fs) < 0 ||
	    fs.f_flag & ST_NOSUID) {
		print_message("needs root, the user nobody, and a /tmp without nosuid\n");
		skip();
	}
	snprintf(path, sizeof(path), "/tmp/test_hold.%d", getpid());
	copy_self(path);
	assert_int_equal(held_run_start(&run, "exec_is_root", path), 0);
	assert_int_equal(held_run_finish(&run), 0);
	unlink(path);
	assert_int_equal(held_run_status(&run), 0);
	held_run_done(&run);
}

static void two_holds_do_not_see_each_others_stops(void **state)
{
	struct held_run a = { 0 }, b = { 0 };

	(void)state;
	assert_int_equal(held_run_start(&a, "forks", NULL), 0);
	assert_int_equal(held_run_start(&b, "vforks", NULL), 0);
	assert_int_equal(held_run_finish(&a), 0);
	assert_int_equal(held_run_finish(&b), 0);
	assert_int_equal(held_run_count(&a, HOLD_FORK, false), TARGET_CHILDREN);
	assert_int_equal(held_run_count(&b, HOLD_FORK, false), TARGET_CHILDREN);
	assert_int_equal(held_run_status(&a), 0);
	assert_int_equal(held_run_status(&b), 0);
	held_run_done(&a);
	held_run_done(&b);
}

static void a_child_of_others_is_not_reaped(void **state)
{
	struct held_run run = { 0 };
	pid_t other = fork();

	(void)state;
	if (other == 0)
		_exit(17);
	assert_int_equal(held_run_start(&run, "forks", NULL), 0);
	assert_int_equal(held_run_finish(&run), 0);
	assert_int_equal(wait_bounded(other), EXITED(17));
	held_run_done(&run);
}

static int ignore(const struct hold_event *event, void *userdata)
{
	(void)event;
	(void)userdata;
	return 0;
}

static void what_cannot_be_seized_is_refused(void **state)
{
	_cleanup_(hold_free_p) struct hold *hold = NULL;
	pid_t zombie = fork(), traced;
	siginfo_t info;

	(void)state;
	if (zombie == 0)
		_exit(0);
	assert_int_equal(hold_new(ignore, NULL, &hold), 0);
	assert_int_equal(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(hold_seize_child(hold, zombie), -ESRCH);
	assert_int_equal(waitpid(zombie, NULL, 0), zombie);
	assert_int_equal(hold_seize_child(hold, zombie), -ESRCH);
	traced = fork();
	if (traced == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(ptrace(PTRACE_SEIZE, traced, NULL, NULL), 0);
	assert_int_equal(hold_seize_child(hold, traced), -EPERM);
	assert_int_equal(hold_threads(hold), 0);
	kill(traced, SIGKILL);
	assert_int_equal(wait_bounded(traced), SIGKILL);
}

static void ignored_sigchld_is_set_to_its_default(void **state)
{
	_cleanup_(hold_free_p) struct hold *hold = NULL;
	struct sigaction action;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(hold_new(ignore, NULL, &hold), 0);
	assert_int_equal(sigaction(SIGCHLD, NULL, &action), 0);
	assert_ptr_equal(action.sa_handler, SIG_DFL);
}

static void *begin_threads(void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	while (arg)
		(void)pthread_create(&thread, &attributes, begin_threads, NULL);
	return NULL;
}

/* What the kernel says of one that ends just then is what it says of one that may not be traced. */
static void threads_that_end_meanwhile_are_no_refusal(void **state)
{
	pid_t pid = fork();
	pthread_t thread;

	(void)state;
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 2; i++)
			(void)pthread_create(&thread, NULL, begin_threads, "");
		(void)begin_threads("");
	}
	for (int i = 0; i < 300; i++) {
		_cleanup_(hold_free_p) struct hold *hold = NULL;

		assert_int_equal(hold_new(ignore, NULL, &hold), 0);
		assert_int_equal(hold_seize_running(hold, pid), 0);
	}
	kill(pid, SIGKILL);
	assert_int_equal(wait_bounded(pid), SIGKILL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_runs_as_if_nobody_traced),
		cmocka_unit_test(every_child_is_reported_from_birth_to_end),
		cmocka_unit_test(a_child_is_told_with_its_parent_and_before_its_other_events),
		cmocka_unit_test(a_child_that_is_not_wanted_is_let_go_at_its_birth),
		cmocka_unit_test(a_child_that_is_not_wanted_is_let_go_at_its_exec),
		cmocka_unit_test(an_exec_by_another_thread_names_both_of_its_tids),
		cmocka_unit_test(the_end_of_an_image_by_another_threads_exec_is_told_once_and_last),
		cmocka_unit_test(a_child_can_be_killed_before_its_origin_is_known),
		cmocka_unit_test(threads_are_told_in_the_order_in_which_they_began),
		cmocka_unit_test(a_mark_is_suppressed_only_when_the_callback_takes_it),
		cmocka_unit_test(a_thread_stays_stopped_during_the_callback),
		cmocka_unit_test(a_failing_callback_ends_the_dispatch_but_not_the_target),
		cmocka_unit_test(a_stopped_target_makes_no_progress_until_it_is_continued),
		cmocka_unit_test(freeing_the_hold_lets_go_in_any_state),
		cmocka_unit_test(a_set_user_id_program_keeps_its_privileges),
		cmocka_unit_test(two_holds_do_not_see_each_others_stops),
		cmocka_unit_test(a_child_of_others_is_not_reaped),
		cmocka_unit_test(what_cannot_be_seized_is_refused),
		cmocka_unit_test(threads_that_end_meanwhile_are_no_refusal),
		cmocka_unit_test(ignored_sigchld_is_set_to_its_default),
	};

	hold_target_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
