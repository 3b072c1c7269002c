/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that does what it is asked: what it may, and what its death costs. */
#include "worker_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SHORT_NS UINT64_C(1500000000) /* below the CPU time that a request may use */

/* --- tests ----------------------------------------------------------------------------------- */

static void requests_are_answered_by_one_process(void **state)
{
	struct worker *worker = *state;

	assert_answer(worker, "count", "1");
	assert_answer(worker, "count", "2");
	assert_answer(worker, "hello", "hello");
	assert_answer(worker, "count", "3");
}

static void files_come_as_descriptors(void **state)
{
	_cleanup_close_ int fd = file_of("inside");
	_cleanup_strbuf_ struct strbuf answer = {};

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(ask_about(*state, "read", fd, &answer), 0);
		assert_string_equal(strbuf_str(&answer), "inside");
	}
}

static void assert_status(pid_t pid, const char *key, const char *value)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256], expected[64];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	snprintf(expected, sizeof(expected), "%s:\t%s\n", key, value);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		found |= strcmp(line, expected) == 0;
	if (!found)
		fail_msg("%s: no line %s", path, expected);
}

static void it_has_no_capabilities_and_a_filter(void **state)
{
	pid_t pids[2];

	assert_answer(*state, "hello", "hello");
	pids[0] = worker_keeper(*state);
	pids[1] = worker_pid(*state);
	for (size_t i = 0; i < 2; i++) {
		assert_status(pids[i], "CapEff", "0000000000000000");
		assert_status(pids[i], "CapPrm", "0000000000000000");
		assert_status(pids[i], "NoNewPrivs", "1");
	}
	assert_status(pids[1], "Seccomp", "2");
}

static void what_it_must_not_do_fails_or_kills_it(void **state)
{
	static const char *const deadly[] = { "socket", "execute", "kill" };
	struct worker *worker = *state;

	assert_answer(worker, "open", strerror(EACCES));
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		assert_answer(worker, "count", "1");
		assert_int_equal(ask(worker, deadly[i], -1), -EPIPE);
	}
	assert_answer(worker, "count", "1");
}

static void a_death_costs_its_request_and_the_next_has_another_process(void **state)
{
	static const char *const deadly[] = { "crash", "fail", "flood" };
	struct worker *worker = *state;

	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		assert_answer(worker, "count", "1");
		assert_int_equal(ask(worker, deadly[i], -1), -EPIPE);
		assert_answer(worker, "count", "1");
		assert_answer(worker, "count", "2");
		assert_int_equal(worker_distrust(worker), -EPIPE);
	}
}

/* Its end of the socket has gone with it. */
static bool is_zombie(pid_t pid)
{
	char path[64], text[256] = "";
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	return strstr(text, ") Z ") != NULL;
}

static void a_death_between_requests_costs_nothing(void **state)
{
	struct worker *worker = *state;
	pid_t pid;

	assert_answer(worker, "count", "1");
	pid = worker_pid(worker);
	assert_int_equal(kill(pid, SIGKILL), 0);
	while (!is_zombie(pid))
		(void)usleep(1000); /* a signal may cut it short */
	assert_answer(worker, "count", "1");
}

/* Until its time of change is another: clocks of file systems tick by milliseconds. */
static void touch(int fd)
{
	struct stat before, now;

	assert_int_equal(fstat(fd, &before), 0);
	do {
		(void)usleep(1000); /* a signal may cut it short */
		assert_int_equal(fchmod(fd, 0600), 0);
		assert_int_equal(fstat(fd, &now), 0);
	} while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
		 now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

static void a_file_that_killed_is_not_tried_again_until_it_changes(void **state)
{
	_cleanup_close_ int deadly = file_of("bad"), good = file_of("good");
	struct worker *worker = *state;

	/* As touch() leaves it: files that all may write are another's. */
	assert_int_equal(fchmod(deadly, 0600), 0);
	assert_int_equal(fchmod(good, 0600), 0);
	assert_int_equal(ask(worker, "crash", deadly), -EPIPE);
	assert_answer(worker, "count", "1");
	assert_int_equal(ask(worker, "read", deadly), -EPIPE);
	assert_int_equal(ask(worker, "read", good), 0);
	assert_answer(worker, "count", "2");
	touch(deadly);
	assert_int_equal(ask(worker, "read", deadly), 0);
	assert_answer(worker, "count", "3");
}

/* How many requests the process has had that answers this one. */
static void assert_count(struct worker *worker, int fd, const char *expected)
{
	_cleanup_strbuf_ struct strbuf answer = {};

	assert_int_equal(ask_about(worker, "count", fd, &answer), 0);
	assert_string_equal(strbuf_str(&answer), expected);
}

static void a_file_that_others_may_have_written_has_another_process(void **state)
{
	_cleanup_close_ int a = file_of("a"), b = file_of("b"), open_to_all = file_of("c");
	struct worker *worker = *state;
	pid_t pid;

	assert_int_equal(fchmod(a, 0600), 0);
	assert_int_equal(fchmod(b, 0644), 0);
	assert_int_equal(fchmod(open_to_all, 0666), 0);
	assert_count(worker, a, "1");
	assert_count(worker, b, "2");
	pid = worker_pid(worker);
	assert_count(worker, open_to_all, "1");
	assert_true(kill(pid, 0) < 0 && errno == ESRCH);
	assert_count(worker, open_to_all, "2");
	assert_count(worker, b, "1");
}

static void files_of_other_users_and_groups_have_processes_of_their_own(void **state)
{
	_cleanup_close_ int fd = file_of("a");
	struct worker *worker = *state;

	if (geteuid() != 0) {
		print_message("[  SKIP    ] only root gives files away\n");
		skip();
	}
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_count(worker, fd, "1");
	for (uid_t uid = 1000; uid < 1100; uid++) { /* many more than may die at once */
		assert_int_equal(fchown(fd, uid, 7), 0);
		assert_count(worker, fd, "1");
		assert_count(worker, fd, "2");
	}
	/* A group matters if it may write. */
	assert_int_equal(fchown(fd, 1099, 8), 0);
	assert_count(worker, fd, "3");
	assert_int_equal(fchmod(fd, 0620), 0);
	assert_count(worker, fd, "1");
	assert_int_equal(fchown(fd, 1099, 9), 0);
	assert_count(worker, fd, "1");
}

/* The other way round they are not believed by what has read others' files. */
static void files_that_could_be_this_program_are_read_before_others(void **state)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int other = file_of("a"), another = file_of("b");
	struct worker *worker = *state;

	assert_int_equal(fchmod(other, 0600), 0);
	assert_count(worker, own, "1");
	assert_count(worker, own, "2");
	assert_count(worker, other, "3");
	assert_count(worker, -1, "4"); /* nobody's */
	assert_count(worker, own, "1");
	assert_count(worker, another, "2");
	assert_count(worker, other, "1");
}

static void what_this_program_has_made_harms_nobody_until_it_is_said(void **state)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int made = file_of("a");
	struct worker *worker = *state;

	assert_int_equal(worker_believe(worker, made), 0);
	assert_count(worker, made, "1");
	assert_count(worker, own, "2");
	assert_int_equal(worker_believe(worker, -1), 0);
	assert_count(worker, made, "3");
	assert_count(worker, own, "1");
}

static void who_has_read_files_of_several_at_once_reads_no_more(void **state)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int a = file_of("a"), b = file_of("b");
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};
	struct worker *worker = *state;
	const int both[] = { a, b, own };

	assert_int_equal(fchmod(a, 0600), 0);
	strbuf_adds(&request, "count");
	assert_count(worker, a, "1");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(worker_call(worker, &request, both, 3, &answer), 0);
		assert_string_equal(strbuf_str(&answer), "1");
	}
	assert_count(worker, a, "1");
}

static void who_hangs_is_killed(void **state)
{
	_cleanup_(worker_free_p) struct worker *worker = NULL;

	(void)state;
	assert_int_equal(worker_new(&ops, SHORT_NS, &worker), 0);
	assert_answer(worker, "count", "1");
	assert_int_equal(ask(worker, "hang", -1), -EPIPE);
	assert_answer(worker, "count", "1");
}

/* It is waited for much longer. */
static void who_uses_too_much_time_is_killed(void **state)
{
	struct worker *worker = *state;
	_cleanup_close_ int busy = file_of("busy");

	assert_int_equal(ask(worker, "hang", busy), -EPIPE);
	assert_int_equal(ask(worker, "read", busy), -EPIPE); /* it is known */
	assert_answer(worker, "count", "1");
}

/* Those of others go on. */
static void an_owner_whose_files_kill_is_not_served_without_end(void **state)
{
	_cleanup_close_ int other = file_of("other");
	struct worker *worker = *state;
	int r = -EPIPE, deaths;

	assert_int_equal(fchmod(other, 0600), 0);
	for (deaths = 0; deaths < 100 && r == -EPIPE; deaths++) {
		_cleanup_close_ int fd = file_of("bad");

		r = ask(worker, "crash", fd);
	}
	assert_int_equal(r, -EAGAIN);
	assert_in_range(deaths, 10, 20);
	assert_int_equal(ask(worker, "read", other), 0);
	assert_answer(worker, "hello", "hello");
}

static void it_is_not_started_without_end(void **state)
{
	struct worker *worker = *state;
	int r = -EPIPE;
	int deaths;

	for (deaths = 0; deaths < 1000 && r == -EPIPE; deaths++)
		r = ask(worker, "crash", -1);
	assert_int_equal(r, -EAGAIN);
	assert_in_range(deaths, 2, 100);
	assert_int_equal(ask(worker, "hello", -1), -EAGAIN);
}

static void nothing_is_left_of_it(void **state)
{
	struct worker *worker;
	pid_t pids[2];

	(void)state;
	assert_int_equal(worker_new(&ops, 0, &worker), 0);
	assert_answer(worker, "hello", "hello");
	pids[0] = worker_keeper(worker);
	pids[1] = worker_pid(worker);
	worker_free(worker);
	for (size_t i = 0; i < 2; i++)
		assert_true(kill(pids[i], 0) < 0 && errno == ESRCH);
}

/* --- asked ahead ----------------------------------------------------------------------------- */

static void ask_ahead(struct worker *worker, const char *what, int fd)
{
	_cleanup_strbuf_ struct strbuf request = {};

	strbuf_adds(&request, what);
	worker_ask_ahead(worker, &request, fd);
}

/* As touch() leaves it: files that all may write are another's. */
static int own_file_of(const char *text)
{
	int fd = file_of(text);

	assert_int_equal(fchmod(fd, 0600), 0);
	return fd;
}

static void assert_about(struct worker *worker, const char *what, int fd, const char *expected)
{
	_cleanup_strbuf_ struct strbuf answer = {};

	assert_int_equal(ask_about(worker, what, fd, &answer), 0);
	assert_string_equal(strbuf_str(&answer), expected);
}

/* The server counts what it was asked. */
static void what_was_asked_ahead_is_answered_once(void **state)
{
	struct worker *worker = *state;
	_cleanup_close_ int a = own_file_of("a"), b = own_file_of("b");

	assert_int_equal(worker_start(worker), 0);
	ask_ahead(worker, "count", a);
	ask_ahead(worker, "read", a);
	ask_ahead(worker, "count", a); /* is asked already */
	ask_ahead(worker, "read", b);
	assert_about(worker, "count", -1, "2"); /* behind those */
	assert_about(worker, "read", b, "b");
	assert_about(worker, "read", a, "a");
	assert_about(worker, "count", a, "1");
	assert_about(worker, "count", a, "3");
}

static void an_answer_is_of_its_file_and_writing_alone(void **state)
{
	struct worker *worker = *state;
	_cleanup_close_ int a = own_file_of("a"), b = own_file_of("b");

	assert_int_equal(worker_start(worker), 0);
	ask_ahead(worker, "count", a);
	assert_about(worker, "count", b, "2");
	touch(a);
	assert_about(worker, "count", a, "3");
	/* of another owner since */
	ask_ahead(worker, "count", b);
	assert_int_equal(fchown(b, 12345, 12345), 0);
	assert_about(worker, "count", b, "1");
}

static void more_than_can_wait_is_asked_when_it_is_called(void **state)
{
	struct worker *worker = *state;
	int fds[20];
	char text[20][8];

	assert_int_equal(worker_start(worker), 0);
	for (int i = 0; i < 20; i++) {
		snprintf(text[i], sizeof(text[i]), "file %d", i);
		fds[i] = own_file_of(text[i]);
		ask_ahead(worker, "read", fds[i]);
	}
	for (int i = 0; i < 20; i++)
		assert_about(worker, "read", fds[i], text[i]);
	/* Answers that nobody has wanted make room. */
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 20; i++)
			ask_ahead(worker, "read", fds[i]);
		assert_answer(worker, "hello", "hello");
	}
	for (int i = 0; i < 20; i++) {
		assert_about(worker, "read", fds[i], text[i]);
		close(fds[i]);
	}
}

static void a_death_of_what_was_asked_ahead_costs_that_alone(void **state)
{
	struct worker *worker = *state;
	_cleanup_close_ int a = own_file_of("a"), bad = own_file_of("bad"), c = own_file_of("c");

	assert_int_equal(worker_start(worker), 0);
	ask_ahead(worker, "read", a);
	ask_ahead(worker, "crash", bad);
	ask_ahead(worker, "read", c);
	assert_about(worker, "read", a, "a");
	assert_about(worker, "read", c, "c");
	assert_int_equal(ask(worker, "crash", bad), -EPIPE);
	assert_int_equal(ask(worker, "read", bad), -EPIPE); /* is known */
	assert_about(worker, "read", a, "a");
	/* found out by another call, or by the one that asks for it */
	touch(bad);
	ask_ahead(worker, "crash", bad);
	assert_answer(worker, "count", "1");
	assert_int_equal(ask(worker, "read", bad), -EPIPE);
	touch(bad);
	ask_ahead(worker, "crash", bad);
	assert_int_equal(ask(worker, "crash", bad), -EPIPE);
	assert_answer(worker, "hello", "hello");
}

static void distrust_holds_for_what_was_asked_ahead(void **state)
{
	struct worker *worker = *state;
	_cleanup_close_ int a = own_file_of("a");

	assert_int_equal(worker_start(worker), 0);
	ask_ahead(worker, "count", a);
	assert_answer(worker, "count", "2");
	assert_int_equal(worker_distrust(worker), -EPIPE);
	assert_about(worker, "count", a, "1");
}

/* Its reader writes the answer before it reads on, and it is larger than a socket. */
static void long_answers_and_long_requests_do_not_wait_for_each_other(void **state)
{
	struct worker *worker = *state;
	_cleanup_close_ int a = own_file_of("a");
	_cleanup_strbuf_ struct strbuf request = {}, answer = {};

	assert_int_equal(worker_start(worker), 0);
	ask_ahead(worker, "long", a);
	for (int i = 0; i < 1 << 15; i++)
		strbuf_adds(&request, "0123456789abcdef");
	assert_int_equal(worker_call(worker, &request, NULL, 0, &answer), 0);
	assert_int_equal(answer.len, request.len);
	assert_int_equal(ask_about(worker, "long", a, &answer), 0);
	assert_int_equal(answer.len, LONG_BYTES);
}

static void nothing_is_asked_ahead_of_another_process(void **state)
{
	struct worker *worker = *state;
	_cleanup_close_ int theirs = own_file_of("theirs"), others = own_file_of("others");

	assert_int_equal(fchown(theirs, 12345, 12345), 0);
	assert_int_equal(fchown(others, 12346, 12346), 0);
	assert_about(worker, "count", theirs, "1");
	ask_ahead(worker, "count", others);
	assert_about(worker, "count", theirs, "2");
	assert_about(worker, "count", others, "1");
}

static void without_a_process_requests_are_answered_here(void **state)
{
	_cleanup_(worker_free_p) struct worker *worker = NULL, *beside = NULL;

	(void)state;
	assert_int_equal(worker_new_inside(&ops, &worker), 0);
	assert_answer(worker, "count", "1");
	assert_answer(worker, "count", "2");
	assert_int_equal(worker_new_beside(worker, &beside), 0);
	assert_answer(beside, "count", "1");
	assert_int_equal(worker_keeper(worker), 0);
	assert_int_equal(worker_pid(worker), 0);
	assert_int_equal(ask(worker, "fail", -1), -ENOMEM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, worker_fixture_new, worker_fixture_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_answered_by_one_process),
		TEST(files_come_as_descriptors),
		TEST(it_has_no_capabilities_and_a_filter),
		TEST(what_it_must_not_do_fails_or_kills_it),
		TEST(a_death_costs_its_request_and_the_next_has_another_process),
		TEST(a_death_between_requests_costs_nothing),
		TEST(a_file_that_others_may_have_written_has_another_process),
		TEST(files_of_other_users_and_groups_have_processes_of_their_own),
		TEST(files_that_could_be_this_program_are_read_before_others),
		TEST(what_this_program_has_made_harms_nobody_until_it_is_said),
		TEST(who_has_read_files_of_several_at_once_reads_no_more),
		TEST(a_file_that_killed_is_not_tried_again_until_it_changes),
		TEST(what_was_asked_ahead_is_answered_once),
		TEST(an_answer_is_of_its_file_and_writing_alone),
		TEST(more_than_can_wait_is_asked_when_it_is_called),
		TEST(a_death_of_what_was_asked_ahead_costs_that_alone),
		TEST(distrust_holds_for_what_was_asked_ahead),
		TEST(long_answers_and_long_requests_do_not_wait_for_each_other),
		TEST(nothing_is_asked_ahead_of_another_process),
		cmocka_unit_test(who_hangs_is_killed),
		TEST(who_uses_too_much_time_is_killed),
		TEST(an_owner_whose_files_kill_is_not_served_without_end),
		TEST(it_is_not_started_without_end),
		cmocka_unit_test(nothing_is_left_of_it),
		cmocka_unit_test(without_a_process_requests_are_answered_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
