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
#include <sys/stat.h>
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
	static const enum preload refusals[] = { PRELOAD_STATIC, PRELOAD_RIGHTS, PRELOAD_SANITIZER,
						 PRELOAD_OWN_MALLOC };

	(void)state;
	assert_null(preload_why_not(PRELOAD_WORKS));
	assert_null(preload_why_not(PRELOAD_NOT_NEEDED));
	for (size_t i = 0; i < N_ELEMENTS(refusals); i++)
		assert_non_null(preload_why_not(refusals[i]));
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
