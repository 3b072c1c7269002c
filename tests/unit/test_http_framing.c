/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MOST 3

/* Names and values by turns. */
struct row {
	const char *headers[2 * MOST];
	bool refused, has_body;
};

static struct http_framing framing_of(const struct row *row)
{
	struct http_framing framing = {};

	for (size_t i = 0; i < MOST && row->headers[2 * i]; i++)
		http_framing_add(&framing, row->headers[2 * i], strlen(row->headers[2 * i]),
				 row->headers[2 * i + 1], strlen(row->headers[2 * i + 1]));
	return framing;
}

static void what_can_be_read_in_two_ways_is_refused(void **state)
{
	static const struct row rows[] = {
		{ { NULL }, false, false },
		{ { "Host", "localhost", "Accept", "*/*", "X-a_b.c", "\ta \xc3\xbc" },
		  false,
		  false },
		{ { "Content-Length", "0" }, false, false },
		{ { "content-length", "3" }, false, true },
		{ { "Transfer-Encoding", "chunked" }, false, true },
		{ { "transfer-encoding", "Chunked", "Host", "x" }, false, true },
		{ { "Host", "a", "host", "b" }, true, false },
		{ { "Content-Length", "3", "Content-Length", "4" }, true, true },
		{ { "Content-Length", "3", "Content-Length", "3" }, true, true },
		{ { "Content-Length", "3", "Transfer-Encoding", "chunked" }, true, true },
		{ { "Transfer-Encoding", "chunked", "Content-Length", "3" }, true, true },
		{ { "Transfer-Encoding", "chunked", "Content-Length", "0" }, true, true },
		{ { "Transfer-Encoding", "chunked", "Transfer-Encoding", "x" }, true, true },
		{ { "Transfer-Encoding", "gzip, chunked" }, true, true },
		{ { "Transfer-Encoding", "\vchunked" }, true, false },
		{ { "Transfer-Encoding", "chunked " }, true, true },
		{ { "Transfer-Encoding", "" }, true, true },
		{ { "Content-Length", "" }, true, true },
		{ { "Content-Length", "+3" }, true, true },
		{ { "Content-Length", "3 4" }, true, true },
		{ { "Content-Length", "3, 3" }, true, true },
		{ { "Content-Length", "0x3" }, true, true },
		{ { "Content-Length ", "3" }, true, false },
		{ { "Content-Length\t", "3" }, true, false },
		{ { "X Y", "3" }, true, false },
		{ { "", "3" }, true, false },
		{ { "X\xc3\xbc", "3" }, true, false },
		{ { "X", "a\rb" }, true, false },
		{ { "X", "a\nb" }, true, false },
		{ { "X", "a\x7f" }, true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_framing framing = framing_of(&rows[i]);

		if ((framing.why != NULL) != rows[i].refused)
			fail_msg("row %zu: %s", i, framing.why ? framing.why : "not refused");
		if (!framing.why && framing.has_body != rows[i].has_body)
			fail_msg("row %zu: a body", i);
	}
}

static void a_zero_byte_in_a_header_is_refused(void **state)
{
	struct http_framing name = {}, value = {};

	(void)state;
	http_framing_add(&name, "X\0Y", 3, "a", 1);
	http_framing_add(&value, "X", 1, "a\0b", 3);
	assert_non_null(name.why);
	assert_non_null(value.why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_read_in_two_ways_is_refused),
		cmocka_unit_test(a_zero_byte_in_a_header_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
