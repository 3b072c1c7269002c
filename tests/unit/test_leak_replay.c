/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "service/leak/leak_replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* What a replay writes to standard error of a record. */
static void replayed(const struct record *record, char text[256])
{
	struct leak_replay *replay;
	int file = memfd_create("stderr", MFD_CLOEXEC), before = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(leak_replay_new(&replay), 0);
	fflush(stderr);
	assert_true(dup2(file, STDERR_FILENO) >= 0);
	assert_int_equal(leak_replay_add(record, replay), 0);
	fflush(stderr);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	n = pread(file, text, 255, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(before);
	close(file);
	leak_replay_free(replay);
}

static void text_of_a_recording_is_safe_for_a_terminal(void **state)
{
	static const struct {
		const char *text, *written;
	} rows[] = {
		{ "", "" },
		{ "==42== HEAP SUMMARY:\n==42==\n", "==42== HEAP SUMMARY:\n==42==\n" },
		{ "no end", "no end" },
		{ "\n\n", "\n\n" },
		{ "a\033]0;title\a\n\xc2\x9b"
		  "2Jb\r\n",
		  "a\\x1b]0;title\\x07\n\\u{9b}2Jb\\x0d\n" },
		{ "\xe2\x80\xae\xff\n", "\\u{202e}\\xff\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct record record = { .type = RECORD_LEAK_TEXT,
					       .leak_text = { 42, rows[i].text } };
		char written[256];

		replayed(&record, written);
		assert_string_equal(written, rows[i].written);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_a_recording_is_safe_for_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
