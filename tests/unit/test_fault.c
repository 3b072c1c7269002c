/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/fault.h"

#include "trace/live/live_fault.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void the_nearest_block_is_the_one_that_is_named(void **state)
{
	static const struct near_block block = { 0x10000, 0x100, false };
	static const struct {
		struct near_block other;
		uint64_t addr;
		bool better; /* than the block */
	} rows[] = {
		{ { 0x20000, 0x100, false }, 0x10000, false },
		{ { 0x20000, 0x100, false }, 0x1807f, false },
		{ { 0x20000, 0x100, false }, 0x18080, true },
		{ { 0x10000, 0x100, true }, 0x10080, false }, /* handed out again */
		{ { 0x10080, 0, true }, 0x10110, false },
		{ { 0x10100, 1, true }, 0x10100, true }, /* right behind it, and in the other */
		{ { 0x300000, 0x100, false }, 0x200000, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (near_block_is_better(&rows[i].other, &block, rows[i].addr) != rows[i].better)
			fail_msg("row %zu", i);
}

static void distances_are_to_the_nearer_end(void **state)
{
	static const struct near_block block = { 0x100000, 16, false },
				       empty = { 0x100000, 0, false };

	(void)state;
	assert_int_equal(near_block_distance(&block, 0x100000), 0);
	assert_int_equal(near_block_distance(&block, 0x10000f), 0);
	assert_int_equal(near_block_distance(&block, 0x100010), 1);
	assert_int_equal(near_block_distance(&block, 0xfffff), 1);
	assert_int_equal(near_block_distance(&empty, 0x100000), 0);
	assert_int_equal(near_block_distance(&empty, 0x100001), 1);
	assert_int_equal(near_block_distance(&block, 0), LIVE_FAULT_NEAR);
	assert_true(near_block_distance(&block, 0x100010 + LIVE_FAULT_NEAR) == UINT64_MAX);
	assert_true(near_block_distance(&block, UINT64_MAX) == UINT64_MAX);
}

/* Where nothing is, as the compiler need not know. */
static volatile uintptr_t nowhere = 0x18;

/* A child that is traced, and stands at the delivery of SIGSEGV. */
static pid_t faulting_child(void (*handler)(int))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGSEGV, handler);
		signal(SIGBUS, SIG_DFL); /* cmocka has one */
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			*(volatile char *)nowhere = 1;
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSEGV);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_fault_has_its_address_and_its_stack(void **state)
{
	pid_t pid = faulting_child(SIG_DFL);
	struct fault fault;

	(void)state;
	assert_true(fault_is_fatal(pid, SIGSEGV));
	assert_int_equal(fault_read(pid, pid, &fault), 0);
	end(pid);
	assert_int_equal(fault.signal, SIGSEGV);
	assert_int_equal(fault.code, SEGV_MAPERR);
	assert_true(fault.has_addr);
	assert_int_equal(fault.addr, 0x18);
	/* here, the tests, main, what calls it */
	assert_true(fault.n_frames > 3);
	assert_int_equal(fault.exact[0] & 3, 1);
}

static void on_signal(int signal)
{
	(void)signal;
}

static void what_is_handled_or_is_no_fault_is_not_fatal(void **state)
{
	pid_t pid = faulting_child(on_signal);

	(void)state;
	assert_false(fault_is_fatal(pid, SIGSEGV));
	assert_true(fault_is_fatal(pid, SIGBUS));
	assert_false(fault_is_fatal(pid, SIGTERM));
	assert_false(fault_is_fatal(pid, SIGKILL));
	end(pid);
	assert_false(fault_is_fatal(pid, SIGSEGV)); /* there is no such process */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_block_is_the_one_that_is_named),
		cmocka_unit_test(distances_are_to_the_nearer_end),
		cmocka_unit_test(a_fault_has_its_address_and_its_stack),
		cmocka_unit_test(what_is_handled_or_is_no_fault_is_not_fatal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
