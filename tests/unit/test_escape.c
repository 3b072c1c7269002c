/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/escape.h"
#include "skip_because.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include <cmocka.h>

#define BEYOND 0x110000

static void text_is_escaped_by_code_point(void **state)
{
	static const struct {
		const char *in, *text, *invalid;
	} cases[] = {
		{ "", "", "" },
		{ "plain \\x1b text", "plain \\x1b text", "plain \\x1b text" },
		{ "f\xc3\xbcr \xf0\x9f\x90\xa2 \xe4\xb8\xad",
		  "f\xc3\xbcr \xf0\x9f\x90\xa2 \xe4\xb8\xad",
		  "f\xc3\xbcr \xf0\x9f\x90\xa2 \xe4\xb8\xad" },
		{ "\x1b[31mred\x07\x7f", "\\x1b[31mred\\x07\\x7f", "\x1b[31mred\x07\x7f" },
		{ "a\r\n\tb", "a\\x0d\\x0a\\x09b", "a\r\n\tb" },
		{ "\xc2\x9b"
		  "2J\xc2\x80",
		  "\\u{9b}2J\\u{80}",
		  "\xc2\x9b"
		  "2J\xc2\x80" }, /* C1 */
		{ "a\xe2\x80\xae"
		  "b\xd8\x9c",
		  "a\\u{202e}b\\u{61c}",
		  "a\xe2\x80\xae"
		  "b\xd8\x9c" }, /* direction */
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\\u{2028}\\u{2029}", "\xe2\x80\xa8\xe2\x80\xa9" },
		{ "\xe2\x80\x8b\xef\xbb\xbf", "\\u{200b}\\u{feff}", "\xe2\x80\x8b\xef\xbb\xbf" },
		{ "\xf3\xa0\x81\x81", "\\u{e0041}", "\xf3\xa0\x81\x81" }, /* a tag */
		{ "\x9b"
		  "2J",
		  "\\x9b2J", "\\x9b2J" }, /* C1 of 8-bit terminals: no UTF-8 */
		{ "\xc3", "\\xc3", "\\xc3" },
		{ "\xc3(", "\\xc3(", "\\xc3(" },
		{ "\xff\xfe", "\\xff\\xfe", "\\xff\\xfe" },
		{ "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf" },		  /* overlong */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf", "\\xe0\\x80\\xaf" }, /* overlong */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80" },
		{ "\xf0\x9f\x90", "\\xf0\\x9f\\x90", "\\xf0\\x9f\\x90" }, /* it ends too early */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf text = { 0 }, invalid = { 0 }, again = { 0 };

		escape_text(&text, cases[i].in);
		escape_invalid(&invalid, cases[i].in);
		escape_text(&again, strbuf_str(&text));
		assert_string_equal(strbuf_str(&text), cases[i].text);
		assert_string_equal(strbuf_str(&invalid), cases[i].invalid);
		assert_string_equal(strbuf_str(&again), cases[i].text);
	}
}

static void layout_and_zero_bytes_are_the_callers_to_choose(void **state)
{
	static const char bytes[] = "a\nb\tc\r\x1b\0d";
	static const struct {
		const char *layout, *expected;
	} cases[] = {
		{ "", "a\\x0ab\\x09c\\x0d\\x1b\\x00d" },
		{ "\n", "a\nb\\x09c\\x0d\\x1b\\x00d" },
		{ "\n\t", "a\nb\tc\\x0d\\x1b\\x00d" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		escape_bytes(&out, bytes, sizeof(bytes) - 1, cases[i].layout);
		assert_string_equal(strbuf_str(&out), cases[i].expected);
	}
}

/* As UTF-8 has it, also where it allows none. */
static size_t encode(uint32_t code, char out[4])
{
	unsigned char *u = (unsigned char *)out;
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--, code >>= 6)
		u[i] = (unsigned char)(0x80 | (code & 0x3f));
	u[0] = (unsigned char)(n == 1 ? code : (0xf0U << (4 - n)) | code);
	return n;
}

static void each_code_point_is_as_it_was_or_in_ascii(void **state)
{
	(void)state;
	for (uint32_t code = 0; code < BEYOND; code++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };
		bool is_surrogate = code >= 0xd800 && code < 0xe000;
		char bytes[4];
		size_t len = encode(code, bytes);
		uint32_t decoded;

		assert_int_equal(escape_decode(bytes, len, &decoded), is_surrogate ? 0 : len);
		assert_true(is_surrogate || decoded == code);
		assert_int_equal(escape_decode(bytes, len - 1, &decoded), 0);
		escape_bytes(&out, bytes, len, "");
		if (!escape_is_unsafe(code)) {
			assert_int_equal(out.len, len);
			assert_memory_equal(strbuf_str(&out), bytes, len);
			continue;
		}
		assert_int_equal(strbuf_str(&out)[0], '\\');
		for (const char *at = strbuf_str(&out); *at; at++)
			assert_in_range(*at, ' ', '~');
	}
	assert_true(escape_is_unsafe(BEYOND) && escape_is_unsafe(UINT32_MAX));
}

/* By the C library's tables: of Cc, Zl, Zp. */
static void what_the_c_library_calls_a_control_is_unsafe(void **state)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	(void)state;
	if (!utf8)
		skip_because("there is no locale with UTF-8");
	for (uint32_t code = 0; code < BEYOND; code++)
		if (iswcntrl_l(code, utf8))
			assert_true(escape_is_unsafe(code));
	freelocale(utf8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_escaped_by_code_point),
		cmocka_unit_test(layout_and_zero_bytes_are_the_callers_to_choose),
		cmocka_unit_test(each_code_point_is_as_it_was_or_in_ascii),
		cmocka_unit_test(what_the_c_library_calls_a_control_is_unsafe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
