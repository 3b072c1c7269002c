/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/preload.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* A script in a folder of its own; both go with the test. */
static enum preload judge_script(const char *text)
{
	char folder[] = "/tmp/test_preload.XXXXXX", path[sizeof(folder) + 8];
	enum preload preload;
	int fd;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/script", folder); /* fits */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	preload = preload_judge("script", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	return preload;
}

static void an_ordinary_program_can_have_it(void **state)
{
	(void)state;
	assert_int_equal(preload_judge("/bin/sh", NULL), PRELOAD_WORKS);
	assert_int_equal(preload_judge("sh", "/nowhere:/bin"), PRELOAD_WORKS);
	assert_int_equal(preload_judge("sh", NULL), PRELOAD_WORKS);
}

static void what_cannot_be_read_is_left_to_the_exec(void **state)
{
	static const char *const names[] = { "", "/", "/nowhere/at/all", "no-such-program",
					     "/dev/null" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		assert_int_equal(preload_judge(names[i], "::/bin:"), PRELOAD_WORKS);
}

static void a_script_is_judged_by_its_interpreter(void **state)
{
	(void)state;
	assert_int_equal(judge_script("#!/bin/sh\n"), PRELOAD_WORKS);
	assert_int_equal(judge_script("#! /no/such/interpreter -x\n"), PRELOAD_WORKS);
	assert_int_equal(judge_script("#!"), PRELOAD_WORKS);
	assert_int_equal(judge_script("#!\n"), PRELOAD_WORKS);
}

static void an_interpreter_that_is_a_fifo_is_not_opened(void **state)
{
	char folder[] = "/tmp/test_preload.XXXXXX", path[sizeof(folder) + 8], text[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/fifo", folder); /* fits */
	(void)snprintf(text, sizeof(text), "#!%s\n", path);    /* fits */
	assert_int_equal(mkfifo(path, 0755), 0);
	{
		_cleanup_close_ int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		struct inotify_event event;

		assert_true(events >= 0);
		assert_true(inotify_add_watch(events, path, IN_OPEN) >= 0);
		assert_int_equal(judge_script(text), PRELOAD_WORKS);
		assert_int_equal(preload_judge("fifo", folder), PRELOAD_WORKS);
		assert_int_equal(read(events, &event, sizeof(event)), -1);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void who_gives_rights_cannot_have_it(void **state)
{
	char folder[] = "/tmp/test_preload.XXXXXX", command[128], path[sizeof(folder) + 8];

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(command, sizeof(command), "cp /bin/true %s/own", folder); /* fits */
	(void)snprintf(path, sizeof(path), "%s/own", folder);			 /* fits */
	assert_int_equal(system(command), 0);
	assert_int_equal(preload_judge("own", folder), PRELOAD_WORKS);
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(preload_judge("own", folder), PRELOAD_RIGHTS);
	assert_int_equal(chmod(path, 02755), 0);
	assert_int_equal(preload_judge("own", folder), PRELOAD_RIGHTS);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void each_refusal_has_its_words(void **state)
{
	static const enum preload refusals[] = { PRELOAD_STATIC,    PRELOAD_RIGHTS,
						 PRELOAD_SANITIZER, PRELOAD_OWN_MALLOC,
						 PRELOAD_32BIT,	    PRELOAD_LINKER };

	(void)state;
	assert_null(preload_why_not(PRELOAD_WORKS));
	assert_null(preload_why_not(PRELOAD_NOT_NEEDED));
	for (size_t i = 0; i < N_ELEMENTS(refusals); i++)
		assert_non_null(preload_why_not(refusals[i]));
}

static void it_is_dropped_from_among_others(void **state)
{
	static const struct {
		const char *value, *left; /* NULL: it is not there */
	} rows[] = {
		{ "/l.so", "" },
		{ "/l.so:", "" },
		{ "/l.so:/other.so", "/other.so" },
		{ "/other.so:/l.so", "/other.so:" },
		{ "/other.so /l.so /third.so", "/other.so /third.so" },
		{ "::/l.so", "::" },
		{ "", NULL },
		{ ":", NULL },
		{ "/l.so.1:/x/l.so:l.so", NULL },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char value[64];

		(void)snprintf(value, sizeof(value), "%s", rows[i].value); /* fits */
		assert_int_equal(preload_drop(value, "/l.so"), rows[i].left != NULL);
		assert_string_equal(value, rows[i].left ? rows[i].left : rows[i].value);
	}
}

static void it_is_withdrawn_from_a_process_and_nothing_else_is(void **state)
{
	static const char script[] =
		"cat /proc/$$/environ | tr '\\0' '\\n' | "
		"grep -c -e ^A=1$ -e ^LD_PRELOAD=:/l2.so$ -e ^Z=1$ -e ^MEMTRACED=-*$";
	char *const argv[] = { "sh", "-c", (char *)script, NULL };
	char *const environment[] = { "A=1", "LD_PRELOAD=:/nowhere/l.so:/l2.so", "Z=1", NULL };
	int out[2], status, stopped;
	char count[4] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(out[1], 1);
		dup2(open("/dev/null", O_WRONLY), 2); /* what ld.so says of the other one */
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execve("/bin/sh", argv, environment);
		_exit(127);
	}
	close(out[1]);
	assert_int_equal(waitpid(pid, &stopped, 0), pid);
	assert_true(WIFSTOPPED(stopped)); /* at its exec */
	assert_int_equal(preload_withdraw(pid, "/nowhere/other.so"), 0);
	assert_int_equal(preload_withdraw(pid, "/nowhere/l.so"), 1);
	assert_int_equal(preload_withdraw(pid, "/nowhere/l.so"), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(read(out[0], count, sizeof(count) - 1) > 0);
	close(out[0]);
	assert_string_equal(count, "4\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordinary_program_can_have_it),
		cmocka_unit_test(what_cannot_be_read_is_left_to_the_exec),
		cmocka_unit_test(a_script_is_judged_by_its_interpreter),
		cmocka_unit_test(an_interpreter_that_is_a_fifo_is_not_opened),
		cmocka_unit_test(who_gives_rights_cannot_have_it),
		cmocka_unit_test(each_refusal_has_its_words),
		cmocka_unit_test(it_is_dropped_from_among_others),
		cmocka_unit_test(it_is_withdrawn_from_a_process_and_nothing_else_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
