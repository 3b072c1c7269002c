/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that lets us wait where the kernel checks access to it, as one does whose exec waits
 * for a file server: it has not ended, and what it is is not known.
 */
#include "base/cleanup.h"
#include "held_run.h"
#include "skip_because.h"
#include "target/clock_offset.h"
#include "target/file_helper.h"
#include "target/hold/hold.h"
#include "target/hold/stop.h"
#include "target/proc_file.h"
#include "target/process_access.h"
#include "target/process_list.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define STOP_NS 20000000000ULL

static pid_t waits; /* 0: none does */

int __wrap_file_helper_read_thread(pid_t tid, const char *name, size_t max_bytes,
				   struct strbuf *text);
int __wrap_file_helper_read_link(pid_t pid, const char *name, size_t max_bytes,
				 struct strbuf *text);
int __wrap_file_helper_open_proc(pid_t pid, const char *name, int flags);

int __wrap_file_helper_read_thread(pid_t tid, const char *name, size_t max_bytes,
				   struct strbuf *text)
{
	return tid == waits ? -ETIMEDOUT : proc_file_read(tid, name, max_bytes, text);
}

int __wrap_file_helper_read_link(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text)
{
	return pid == waits ? -ETIMEDOUT : proc_link_read(pid, name, max_bytes, text);
}

int __wrap_file_helper_open_proc(pid_t pid, const char *name, int flags)
{
	return pid == waits ? -ETIMEDOUT : proc_file_open(pid, name, flags);
}

static pid_t fork_pausing(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(wait_bounded(pid), SIGKILL);
	waits = 0;
}

/* It traces the process, and says so. -1: it may not. */
static pid_t fork_debugger(pid_t pid)
{
	pid_t debugger;
	char byte;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	debugger = fork();
	assert_true(debugger >= 0);
	if (debugger == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
			_exit(1);
		(void)!write(ends[1], "", 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		debugger = -1;
	close(ends[0]);
	return debugger;
}

static int ignore(const struct hold_event *event, void *userdata)
{
	(void)event;
	(void)userdata;
	return 0;
}

static void one_under_a_debugger_has_not_ended(void **state)
{
	_cleanup_(hold_free_p) struct hold *hold = NULL;
	pid_t pid = fork_pausing(), debugger = fork_debugger(pid);
	struct stop *stop;

	(void)state;
	if (debugger < 0) {
		end(pid);
		skip_because("who is not the parent may not trace here (yama)");
	}
	waits = pid;
	assert_int_equal(stop_new(pid, STOP_NS, &stop), -EBUSY);
	assert_int_equal(hold_new(ignore, NULL, &hold), 0);
	assert_int_equal(hold_seize_running(hold, pid), -EBUSY);
	assert_int_equal(hold_seize_child(hold, pid), -EPERM);
	end(debugger);
	end(pid);
}

static void it_is_among_the_descendants(void **state)
{
	pid_t pid = fork_pausing();
	pid_vec pids = {};
	bool is_listed = false;

	(void)state;
	waits = pid;
	assert_int_equal(process_list_descendants(getpid(), 0, &pids), 0);
	vec_foreach(&pids, descendant)
		is_listed |= *descendant == pid;
	vec_done(&pids);
	assert_true(is_listed);
	end(pid);
}

static void it_may_be_a_translator(void **state)
{
	_cleanup_free_ char *exe = NULL;
	pid_t pid = fork_pausing();
	int r;

	(void)state;
	waits = pid;
	r = translator_find(&exe);
	end(pid);
	if (exe)
		skip_because("a translator runs here");
	assert_int_equal(r, -ETIMEDOUT);
}

static void whose_it_is_is_not_known(void **state)
{
	(void)state;
	waits = getpid();
	assert_int_equal(process_access_check(getpid(), getuid(), getgid()), -ETIMEDOUT);
	/* What waits for nothing suffices. */
	assert_int_equal(process_access_check(getpid(), getuid() + 1, getgid()), -EACCES);
	waits = 0;
}

static void nor_is_its_clock(void **state)
{
	pid_t pid = fork_pausing();
	int64_t ns = 0;

	(void)state;
	assert_int_equal(clock_offset_of(pid, &ns), 0);
	waits = pid;
	assert_int_equal(clock_offset_of(pid, &ns), -ETIMEDOUT);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_under_a_debugger_has_not_ended),
		cmocka_unit_test(it_is_among_the_descendants),
		cmocka_unit_test(it_may_be_a_translator),
		cmocka_unit_test(whose_it_is_is_not_known),
		cmocka_unit_test(nor_is_its_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
