/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is let in before anything is looked at: names of hosts, pages of other sites, tokens.
 */
#include "service/daemon/routes/tokens.h"
#include "service/http/guard.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static char *const hosts[] = { "box", "box.example", NULL };

static bool passes(const char *host, const char *origin, const char *site, bool is_tcp)
{
	const struct http_origin from = {
		.host = host, .origin = origin, .sec_fetch_site = site, .is_tcp = is_tcp
	};

	return http_guard(&from, hosts) == NULL;
}

static void hosts_are_addresses_localhost_and_those_configured(void **state)
{
	static const char *const good[] = { "localhost",     "LOCALHOST:80", "127.0.0.1",
					    "127.0.0.1:1",   "[::1]",	     "[::1]:19090",
					    "10.0.0.1:8080", "box",	     "Box.Example:80" };
	static const char *const bad[] = { NULL,
					   "",
					   "evil.example",
					   "evil.example:80",
					   "localhost.evil.example",
					   "localhost:80.evil.example",
					   "localhost:",
					   "localhost:http",
					   "localhost:123456",
					   "127.0.0.1.evil.example",
					   "127.1",
					   "0x7f000001",
					   "2130706433",
					   "[::1",
					   "[::1]x",
					   "[::1]:",
					   "[localhost]",
					   "::1",
					   "box.",
					   "user@localhost",
					   "localhost, evil.example" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(good); i++)
		if (!passes(good[i], NULL, NULL, true))
			fail_msg("'%s' was refused", good[i]);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		if (passes(bad[i], NULL, NULL, true))
			fail_msg("'%s' was let in", bad[i] ? bad[i] : "no Host");
	assert_true(passes("evil.example", NULL, NULL, false));
	assert_true(passes(NULL, NULL, NULL, false));
}

static void pages_of_other_sites_are_refused(void **state)
{
	(void)state;
	assert_true(passes("localhost:1", NULL, "same-origin", true));
	assert_true(passes("localhost:1", NULL, "none", true));
	assert_false(passes("localhost:1", NULL, "cross-site", true));
	assert_false(passes("localhost:1", NULL, "same-site", true));
	assert_false(passes("localhost:1", NULL, "", true));
	assert_false(passes("localhost:1", NULL, "cross-site", false));
	assert_true(passes("localhost:1", "http://localhost:1", NULL, true));
	assert_false(passes("localhost:1", "http://localhost:2", NULL, true));
	assert_false(passes("localhost:1", "http://localhost:1.evil.example", NULL, true));
	assert_false(passes("localhost:1", "https://localhost:1", NULL, true));
	assert_false(passes("localhost:1", "null", NULL, true));
	assert_false(passes(NULL, "http://localhost", NULL, false));
}

static void browsers_with_basic_credentials_say_which_page_asks(void **state)
{
	static const char browser[] = "Mozilla/5.0 (X11; Linux x86_64)";
	static const struct {
		struct http_origin from;
		bool passes;
	} cases[] = {
		{ { .user_agent = browser, .authorization = "Basic OnRva2Vu" }, false },
		{ { .user_agent = browser, .authorization = "basic OnRva2Vu" }, false },
		{ { .user_agent = browser,
		    .authorization = "Basic OnRva2Vu",
		    .origin = "http://box" },
		  false },
		{ { .user_agent = browser,
		    .authorization = "Basic OnRva2Vu",
		    .sec_fetch_site = "same-origin" },
		  true },
		/* It has no credentials yet: it is to be asked for them. */
		{ { .user_agent = browser }, true },
		/* Pages cannot send this by themselves. */
		{ { .user_agent = browser, .authorization = "Bearer token" }, true },
		{ { .user_agent = "Go-http-client/1.1", .authorization = "Basic OnRva2Vu" }, true },
		{ { .authorization = "Basic OnRva2Vu" }, true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct http_origin from = cases[i].from;

		from.host = "box";
		from.is_tcp = true;
		assert_int_equal(http_guard(&from, hosts) == NULL, cases[i].passes);
	}
}

static void only_the_whole_token_matches(void **state)
{
	static const char token[] = "0123456789abcdef";

	(void)state;
	assert_true(token_matches(token, "0123456789abcdef"));
	assert_false(token_matches(token, ""));
	assert_false(token_matches(token, "0123456789abcde"));
	assert_false(token_matches(token, "0123456789abcdef0"));
	assert_false(token_matches(token, "0123456789abcdef0123456789abcdef"));
	assert_false(token_matches(token, "0123456789abcdeF"));
}

/* What reading a file with this text and mode gives. */
static int read_token(const char *text, mode_t mode, char **ret_token)
{
	char path[] = "/tmp/test_token.XXXXXX";
	_cleanup_strbuf_ struct strbuf error = {};
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	r = token_read(path, ret_token, &error);
	assert_int_equal(unlink(path), 0);
	assert_true(r == 0 || error.len > 0);
	return r;
}

static void a_token_is_long_enough_and_nobody_elses(void **state)
{
	char *token = NULL;

	(void)state;
	assert_int_equal(read_token("0123456789abcdef\nrest", 0600, &token), 0);
	assert_string_equal(token, "0123456789abcdef");
	free(token);
	token = NULL;
	assert_int_equal(read_token("0123456789abcdef", 0400, &token), 0);
	free(token);
	token = NULL;
	assert_int_equal(read_token("0123456789abcdef", 0640, &token), -EPERM);
	assert_int_equal(read_token("0123456789abcdef", 0604, &token), -EPERM);
	assert_int_equal(read_token("0123456789abcde\n", 0600, &token), -EINVAL);
	assert_int_equal(read_token("01234567 9abcdef0\n", 0600, &token), -EINVAL);
	assert_int_equal(read_token("", 0600, &token), -EINVAL);
	assert_null(token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_addresses_localhost_and_those_configured),
		cmocka_unit_test(pages_of_other_sites_are_refused),
		cmocka_unit_test(browsers_with_basic_credentials_say_which_page_asks),
		cmocka_unit_test(only_the_whole_token_matches),
		cmocka_unit_test(a_token_is_long_enough_and_nobody_elses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
