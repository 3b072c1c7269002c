/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

/* stderr is a datagram socket meanwhile, so that each write is one message. */
struct capture {
	int read_fd;
	int saved_stderr;
};

static void capture_begin(struct capture *c)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
	c->read_fd = fds[0];
	c->saved_stderr = dup(STDERR_FILENO);
	assert_true(c->saved_stderr >= 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	close(fds[1]);
}

static void capture_end(struct capture *c)
{
	dup2(c->saved_stderr, STDERR_FILENO);
	close(c->saved_stderr);
}

/* The next write to stderr as a string in `buf`, "" when there was none. */
static const char *capture_next(const struct capture *c, char *buf, size_t size)
{
	ssize_t n = recv(c->read_fd, buf, size - 1, MSG_DONTWAIT);

	buf[n < 0 ? 0 : n] = '\0';
	return buf;
}

static void messages_above_the_level_are_dropped(void **state)
{
	struct capture c;
	char buf[256];

	(void)state;
	capture_begin(&c);
	log_debug("not by default %d", 1);
	log_info("info %d", 2);
	log_set_level(LOG_LEVEL_ERROR);
	log_warning("not now");
	log_error("failed on '%s'", "x");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("detail");
	log_set_level(LOG_LEVEL_INFO);
	capture_end(&c);
	assert_string_equal(capture_next(&c, buf, sizeof(buf)), "memtraced: info 2\n");
	assert_string_equal(capture_next(&c, buf, sizeof(buf)), "memtraced: failed on 'x'\n");
	assert_string_equal(capture_next(&c, buf, sizeof(buf)), "memtraced: detail\n");
	assert_string_equal(capture_next(&c, buf, sizeof(buf)), "");
	close(c.read_fd);
}

static void what_nobody_reads_is_lost_and_counted(void **state)
{
	struct capture c;
	char buf[256];
	int errors = 0;

	(void)state;
	capture_begin(&c);
	while (send(STDERR_FILENO, "x", 1, MSG_DONTWAIT) == 1)
		;
	errors = errno;
	log_info("one");
	log_info("two");
	while (*capture_next(&c, buf, sizeof(buf)))
		assert_string_equal(buf, "x");
	log_info("three");
	capture_end(&c);
	assert_int_equal(errors, EAGAIN);
	assert_string_equal(capture_next(&c, buf, sizeof(buf)),
			    "memtraced: 2 messages were lost: they were not read\n");
	assert_string_equal(capture_next(&c, buf, sizeof(buf)), "memtraced: three\n");
	assert_string_equal(capture_next(&c, buf, sizeof(buf)), "");
	close(c.read_fd);
}

static void a_name_with_control_characters_stays_one_harmless_line(void **state)
{
	struct capture c;
	char buf[256];

	(void)state;
	capture_begin(&c);
	log_info("comm %s", "a\nb\033[2J\177\303\244\302\2332J\342\200\256\377");
	capture_end(&c);
	assert_string_equal(
		capture_next(&c, buf, sizeof(buf)),
		"memtraced: comm a\\x0ab\\x1b[2J\\x7f\303\244\\u{9b}2J\\u{202e}\\xff\n");
	close(c.read_fd);
}

static void a_long_message_is_whole_and_errno_survives(void **state)
{
	static char text[5001], buf[8192];
	struct capture c;

	(void)state;
	memset(text, 'y', sizeof(text) - 1);
	capture_begin(&c);
	errno = ENOTTY;
	log_error("%s", text);
	assert_int_equal(errno, ENOTTY);
	capture_end(&c);
	capture_next(&c, buf, sizeof(buf));
	assert_int_equal(strlen(buf), strlen("memtraced: ") + 5000 + 1);
	close(c.read_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_above_the_level_are_dropped),
		cmocka_unit_test(what_nobody_reads_is_lost_and_counted),
		cmocka_unit_test(a_name_with_control_characters_stays_one_harmless_line),
		cmocka_unit_test(a_long_message_is_whole_and_errno_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
