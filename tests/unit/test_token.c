/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* In place of the C library's, which may set errno to whatever it likes (errno(3)). */
char *strerror(int number)
{
	(void)number;
	errno = 0;
	return (char *)"its reason";
}

static int read_from(const char *path, char **ret_token)
{
	_cleanup_strbuf_ struct strbuf error = {};
	int r = token_read(path, ret_token, &error);

	if (r < 0)
		assert_non_null(strstr(strbuf_str(&error), path));
	return r;
}

static void a_failure_keeps_its_number_whatever_is_called_for_its_message(void **state)
{
	char folder[] = "/tmp/test_token.XXXXXX", *token = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(read_from("/nonexistent/token", &token), -ENOENT);
	/* Can be opened, and is no file. */
	assert_int_equal(read_from(folder, &token), -EPERM);
	/* Is a file of its owner alone, and cannot be read. */
	assert_int_equal(read_from("/proc/self/mem", &token), -EIO);
	assert_null(token);
	assert_int_equal(rmdir(folder), 0);
}

static void the_first_line_is_the_token(void **state)
{
	char path[] = "/tmp/test_token.XXXXXX";
	_cleanup_free_ char *token = NULL;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef\nmore\n", 22), 22);
	assert_int_equal(read_from(path, &token), 0);
	assert_string_equal(token, "0123456789abcdef");
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(read_from(path, &token), -EPERM);
	close(fd);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_keeps_its_number_whatever_is_called_for_its_message),
		cmocka_unit_test(the_first_line_is_the_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
