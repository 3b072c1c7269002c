/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strbuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_unwritten_buffer_reads_as_the_empty_string(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };

	(void)state;
	assert_string_equal(strbuf_str(&sb), "");
	strbuf_add(&sb, NULL, 0);
	assert_null(sb.data);
	assert_int_equal(strbuf_error(&sb), 0);
}

static void all_ways_of_adding_append(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };

	(void)state;
	strbuf_adds(&sb, "pid");
	strbuf_addch(&sb, ' ');
	strbuf_addf(&sb, "%d of %s", 42, "7");
	strbuf_add(&sb, "!?", 1);
	assert_string_equal(strbuf_str(&sb), "pid 42 of 7!");
	assert_int_equal(sb.len, 12);
}

static void bytes_with_nul_are_kept_and_terminated(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };

	(void)state;
	strbuf_add(&sb, "a\0b", 3);
	strbuf_addch(&sb, '\0');
	assert_int_equal(sb.len, 4);
	assert_memory_equal(sb.data, "a\0b\0", 5);
}

/* Around each power of two the terminator is what may not fit. */
static void text_of_any_length_is_whole(void **state)
{
	char text[600];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t before = 0; before < 70; before += 3)
		for (size_t len = 0; len < sizeof(text); len++) {
			_cleanup_strbuf_ struct strbuf sb = { 0 };

			strbuf_add(&sb, text, before);
			strbuf_addf(&sb, "%.*s", (int)len, text);
			if (sb.len != before + len || strlen(strbuf_str(&sb)) != sb.len ||
			    sb.cap <= sb.len)
				fail_msg("%zu + %zu gave %zu", before, len, sb.len);
		}
}

static void an_error_sticks_until_reset_and_keeps_what_was_there(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };

	(void)state;
	strbuf_adds(&sb, "kept");
	strbuf_add(&sb, "", SIZE_MAX / 2); /* is refused before a byte is read */
	assert_int_equal(strbuf_error(&sb), -ENOMEM);
	strbuf_adds(&sb, " not added");
	strbuf_addf(&sb, "%d", 1);
	assert_string_equal(strbuf_str(&sb), "kept");
	strbuf_reset(&sb);
	assert_int_equal(strbuf_error(&sb), 0);
	assert_string_equal(strbuf_str(&sb), "");
	strbuf_adds(&sb, "again");
	assert_string_equal(strbuf_str(&sb), "again");
}

static void a_failed_conversion_is_an_error_and_leaves_the_string(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };

	(void)state;
	strbuf_adds(&sb, "kept");
	strbuf_addf(&sb, "ab%ls", L"\u20ac"); /* has no bytes in the C locale */
	assert_int_equal(strbuf_error(&sb), -ENOMEM);
	assert_string_equal(strbuf_str(&sb), "kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unwritten_buffer_reads_as_the_empty_string),
		cmocka_unit_test(all_ways_of_adding_append),
		cmocka_unit_test(bytes_with_nul_are_kept_and_terminated),
		cmocka_unit_test(text_of_any_length_is_whole),
		cmocka_unit_test(an_error_sticks_until_reset_and_keeps_what_was_there),
		cmocka_unit_test(a_failed_conversion_is_an_error_and_leaves_the_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
