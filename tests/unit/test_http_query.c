/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/http/query.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void targets_are_taken_apart(void **state)
{
	static const struct {
		const char *target, *path;
		pid_t pid;
		uint64_t seconds;
		unsigned int debug;
		const char *format;
		enum heap_depth depth;
	} cases[] = {
		{ "/", "/", 0, 0, 0, NULL, HEAP_EXACT },
		{ "/healthz?", "/healthz", 0, 0, 0, NULL, HEAP_EXACT },
		{ "/debug/pprof/", "/debug/pprof/", 0, 0, 0, NULL, HEAP_EXACT },
		{ "/debug/pprof/heap?pid=7&seconds=5&debug=1", "/debug/pprof/heap", 7, 5, 1, NULL,
		  HEAP_EXACT },
		{ "/debug/pprof/heap?debug=2&&pid=7&", "/debug/pprof/heap", 7, 0, 2, NULL,
		  HEAP_EXACT },
		{ "/proc/7/debug/pprof/heap?seconds=0", "/debug/pprof/heap", 7, 0, 0, NULL,
		  HEAP_EXACT },
		{ "/%64ebug?p%69d=%37&format=a%2Fb", "/debug", 7, 0, 0, "a/b", HEAP_EXACT },
		{ "/x?pid=2147483647", "/x", INT_MAX, 0, 0, NULL, HEAP_EXACT },
		{ "/x?format=", "/x", 0, 0, 0, "", HEAP_EXACT },
		{ "/x?depth=exact", "/x", 0, 0, 0, NULL, HEAP_EXACT },
		{ "/x?pid=7&depth=sampled", "/x", 7, 0, 0, NULL, HEAP_SAMPLED },
		{ "/proc/7", "", 7, 0, 0, NULL, HEAP_EXACT },
		{ "/a...b/..c", "/a...b/..c", 0, 0, 0, NULL, HEAP_EXACT },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct http_query query;
		const char *why = "";

		if (http_query_parse(cases[i].target, &query, &why) != 0)
			fail_msg("'%s': %s", cases[i].target, why);
		assert_string_equal(query.path, cases[i].path);
		assert_int_equal(query.pid, cases[i].pid);
		assert_int_equal(query.seconds, cases[i].seconds);
		assert_int_equal(query.debug, cases[i].debug);
		assert_int_equal(query.depth, cases[i].depth);
		if (cases[i].format)
			assert_string_equal(query.format, cases[i].format);
		else
			assert_null(query.format);
		http_query_done(&query);
	}
}

static void what_is_not_exactly_right_is_refused(void **state)
{
	static const char *const targets[] = {
		"",
		"x",
		"*",
		"http://host/metrics",
		"//metrics",
		"/debug//pprof",
		"/debug/../metrics",
		"/debug/..",
		"/.",
		"/./metrics",
		"/debug/%2e%2e/metrics",
		"/debug/%2e./metrics",
		"/debug%2f..%2fmetrics",
		"/%",
		"/%4",
		"/%zz",
		"/%4g",
		"/%00",
		"/a%0d%0ab",
		"/\x01",
		"/\x7f",
		"/x?pid",
		"/x?pid=",
		"/x?pid=0",
		"/x?pid=-1",
		"/x?pid=+1",
		"/x?pid= 1",
		"/x?pid=1x",
		"/x?pid=2147483648",
		"/x?pid=18446744073709551617",
		"/x?pid=1&pid=1",
		"/x?pid=%",
		"/x?pid=%00",
		"/x?%70%69%64=1&pid=1",
		"/x?seconds=1.5",
		"/x?seconds=1e3",
		"/x?seconds=9999999999999",
		"/x?seconds=1&seconds=1",
		"/x?debug=3",
		"/x?debug=1&debug=1",
		"/x?format=a&format=b",
		"/x?depth=",
		"/x?depth=growth",
		"/x?depth=exact&depth=exact",
		"/x?sconds=1",
		"/x?=1",
		"/x?a=b?pid=1",
		"/proc/",
		"/proc//heap",
		"/proc/self/debug/pprof/heap",
		"/proc/7x/heap",
		"/proc/7/heap?pid=8",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(targets); i++) {
		struct http_query query;
		const char *why = NULL;

		if (http_query_parse(targets[i], &query, &why) != -EINVAL)
			fail_msg("'%s' was taken", targets[i]);
		assert_non_null(why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_taken_apart),
		cmocka_unit_test(what_is_not_exactly_right_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
