/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token in an Authorization header.
 */
#include "service/http/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void tokens_are_bearers_or_the_password_of_basic(void **state)
{
	static const struct {
		const char *header, *token;
	} cases[] = {
		{ "Bearer 0123456789abcdef", "0123456789abcdef" },
		{ "bearer  x", "x" },
		{ "Basic OnRva2Vu", "token" },		   /* :token */
		{ "BASIC bWU6dG9rZW4=", "token" },	   /* me:token */
		{ "Basic bWU6dG9rZW5z", "tokens" },	   /* me:tokens */
		{ "Basic bTp0b2tlbg==", "token" },	   /* m:token */
		{ "Basic bWU6dG86a2Vu", "to:ken" },	   /* me:to:ken */
		{ "Basic On4/Pn4/Pn4/Pg==", "~?>~?>~?>" }, /* with / */
		{ "Basic Oj4+Pn5+fg==", ">>>~~~" },	   /* with + */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char token[HTTP_TOKEN_MOST + 1];

		if (!http_credentials_token(cases[i].header, token))
			fail_msg("is refused: %s", cases[i].header);
		assert_string_equal(token, cases[i].token);
		assert_int_equal(http_credentials_are_basic(cases[i].header),
				 (cases[i].header[1] | 0x20) == 'a');
	}
}

static void nothing_else_is_a_token(void **state)
{
	static const char *const bad[] = {
		NULL,
		"",
		"Bearer",
		"Bearer ",
		"Bearertoken",
		"token",
		"Basic",
		"Basic ",
		"Digest OnRva2Vu",
		"Basic OnRva2V",      /* its padding is missing */
		"Basic OnRva2V*",     /* not a digit */
		"Basic OnRva2Vu OnR", /* two words */
		"Basic bm9ib2R5",     /* no colon */
		"Basic Og==",	      /* an empty password */
		"Basic OnRvAGVu",     /* a NUL */
		"Basic =OnRva2V",
		"Basic ====",
		"Basic On==a2Vu",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		char token[HTTP_TOKEN_MOST + 1];

		if (http_credentials_token(bad[i], token))
			fail_msg("is accepted: %s", bad[i]);
	}
}

static void a_token_has_a_greatest_length(void **state)
{
	char header[4096], token[HTTP_TOKEN_MOST + 1];

	(void)state;
	for (size_t len = HTTP_TOKEN_MOST - 1; len <= HTTP_TOKEN_MOST + 2; len++) {
		(void)snprintf(header, sizeof(header), "Bearer %*s", (int)len, "");
		memset(header + strlen("Bearer "), 'x', len);
		assert_int_equal(http_credentials_token(header, token), len <= HTTP_TOKEN_MOST);
	}
	(void)snprintf(header, sizeof(header), "Basic Onh4");
	for (size_t len = 2; len < 1400; len += 3) {
		assert_int_equal(http_credentials_token(header, token), len <= HTTP_TOKEN_MOST);
		strcat(header, "eHh4"); /* xxx */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_bearers_or_the_password_of_basic),
		cmocka_unit_test(nothing_else_is_a_token),
		cmocka_unit_test(a_token_has_a_greatest_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
