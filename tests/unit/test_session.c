/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two sessions at once in one process, on one target and on different ones: each must report what
 * its targets did, to the block. Needs root, since sessions trace for real.
 */
#include "base/cleanup.h"
#include "sandbox/worker.h"
#include "service/sample_library.h"
#include "service/session/session.h"
#include "symbol/symbol_server.h"

#include <json-c/json.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define BLOCK_BYTES 100

struct target {
	pid_t pid;
	int go;	  /* a byte written here lets it allocate */
	int done; /* a byte comes when it has */
};

struct run {
	struct options *options;
	struct launch_inherited inherited;
	struct worker *worker;
	struct session *session;
	char path[64];
};

static void allocate(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile block = malloc(BLOCK_BYTES);

		if (!block)
			_exit(1);
		if (i % 4 == 0)
			free(block);
	}
}

static struct target target_start(int blocks)
{
	int go[2], done[2];
	struct target t = {};
	char byte;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(done), 0);
	t.pid = fork();
	assert_true(t.pid >= 0);
	if (t.pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		allocate(blocks);
		if (write(done[1], "d", 1) != 1)
			_exit(1);
		(void)!read(go[0], &byte, 1); /* until the test lets go */
		_exit(0);
	}
	close(go[0]);
	close(done[1]);
	t.go = go[1];
	t.done = done[0];
	return t;
}

static void target_run(const struct target *t)
{
	char byte;

	assert_int_equal(write(t->go, "g", 1), 1);
	assert_int_equal(read(t->done, &byte, 1), 1);
}

static void target_end(const struct target *t)
{
	assert_int_equal(write(t->go, "e", 1), 1);
	close(t->go);
	close(t->done);
	assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
}

static void run_begin(struct run *run, int number, const struct target *a, const struct target *b)
{
	char output[96], pids[32];
	char *argv[] = { "memtraced", "-q", "-p", pids, "-o", output, NULL };
	struct kept_books books = {};
	struct strbuf error = {};

	snprintf(run->path, sizeof(run->path), "/tmp/test_session.%d.%d", (int)getpid(), number);
	snprintf(output, sizeof(output), "json:%s", run->path);
	snprintf(pids, sizeof(pids), b ? "%d,%d" : "%d", (int)a->pid, b ? (int)b->pid : 0);
	assert_int_equal(launch_inherited_save(&run->inherited), 0);
	assert_int_equal(options_parse(6, argv, &run->options, &error), 0);
	assert_int_equal(worker_new(&file_server, 0, &run->worker), 0);
	assert_int_equal(session_new(run->options, &run->inherited, run->worker, NULL, &books,
				     &run->session),
			 0);
	strbuf_done(&error);
}

static struct json_object *run_end(struct run *run)
{
	struct json_object *report;

	assert_int_equal(session_finish(run->session), 0);
	session_free(run->session);
	worker_free(run->worker);
	options_free(run->options);
	report = json_object_from_file(run->path);
	assert_non_null(report);
	unlink(run->path);
	return report;
}

static int64_t number(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return json_object_get_int64(value);
}

/* The target's own calls and nothing else, since it does nothing else between the two bytes. */
static void check_process(struct json_object *report, const struct target *t, int blocks)
{
	struct json_object *processes = json_object_object_get(report, "processes");

	for (size_t i = 0; i < json_object_array_length(processes); i++) {
		struct json_object *p = json_object_array_get_idx(processes, i);
		struct json_object *alloc = json_object_object_get(p, "alloc");

		if (number(p, "pid") != t->pid)
			continue;
		assert_int_equal(number(alloc, "allocs"), blocks);
		assert_int_equal(number(alloc, "frees"), (blocks + 3) / 4);
		assert_int_equal(number(alloc, "live_bytes"),
				 (blocks - (blocks + 3) / 4) * BLOCK_BYTES);
		return;
	}
	fail_msg("process %d is not in the report", (int)t->pid);
}

static void check_exact(struct json_object *report)
{
	struct json_object *coverage = json_object_object_get(report, "coverage");

	assert_true(json_object_get_boolean(json_object_object_get(coverage, "exact")));
}

static void two_sessions_at_once_do_not_disturb_each_other(void **state)
{
	struct target one = target_start(1000), both = target_start(400);
	struct run first = {}, second = {};
	struct json_object *report;

	(void)state;
	if (geteuid() != 0) {
		print_message("sessions need root\n");
		skip();
	}
	run_begin(&first, 1, &one, &both);
	run_begin(&second, 2, &both, NULL);
	target_run(&one);
	target_run(&both);
	assert_int_equal(session_step(first.session, 100), 0);
	assert_int_equal(session_step(second.session, 100), 0);
	report = run_end(&first);
	check_exact(report);
	check_process(report, &one, 1000);
	check_process(report, &both, 400);
	json_object_put(report);
	/* the end of one session is nothing to the other */
	report = run_end(&second);
	check_exact(report);
	check_process(report, &both, 400);
	assert_int_equal(json_object_array_length(json_object_object_get(report, "processes")), 1);
	json_object_put(report);
	target_end(&one);
	target_end(&both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_sessions_at_once_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
