/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of suppressions: from text, and whether lines of an entry match a stack. */
#ifndef MEMTRACED_TESTS_UNIT_SUPPRESSION_FIXTURE_H
#define MEMTRACED_TESTS_UNIT_SUPPRESSION_FIXTURE_H

#include "analyze/suppression_file.h"
#include "analyze/suppressions.h"
#include "analyze/valgrind_names.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N(array) (sizeof(array) / sizeof(*(array)))
#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define EXE "/opt/app/bin/app"

#define FRAME(name, demangled, path, source, number)                                               \
	{                                                                                          \
		.linkage = (name), .function = (demangled), .object = (path), .file = (source),    \
		.line = (number)                                                                   \
	}

static inline struct suppressions *from(const char *text)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct suppressions *s = NULL;

	assert_int_equal(suppressions_new(&s), 0);
	if (suppressions_add_text(s, "test.supp", text, strlen(text), &error))
		fail_msg("%s", strbuf_str(&error));
	return s;
}

static inline int match_leak(const struct suppressions *s, const struct suppression_frame *frames,
			     size_t n)
{
	return suppressions_match(s, SUPPRESSION_LEAK, REACH_DEFINITE, frames, n);
}

static inline bool frames_match(const char *lines, const struct suppression_frame *frames, size_t n)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;
	int r;

	strbuf_addf(&text, "{\n x\n Memcheck:Leak\n%s\n}\n", lines);
	s = from(strbuf_str(&text));
	r = match_leak(s, frames, n);
	assert_true(r == 0 || r == -ENOENT);
	return r == 0;
}

#endif
