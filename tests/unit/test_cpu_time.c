/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/cpu_time.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static void what_is_idle_or_waits_is_no_time_of_a_host(void **state)
{
	static const char text[] = "cpu  100 20 50 99999 8888 7 3 1234 60 5\ncpu0 1 2 3 4 5 6 7\n";
	uint64_t ns;

	(void)state;
	assert_int_equal(cpu_time_parse_host(text, &ns), 0);
	assert_int_equal(ns, 180 * SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = { "", "cpu 1 2 3", "intr 1 2 3 4 5 6 7",
					     "cpu a 2 3 4 5 6 7" };
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(cpu_time_parse_host(texts[i], &ns), -EBADMSG);
}

static void a_host_uses_what_its_processes_use(void **state)
{
	uint64_t host, own;

	(void)state;
	assert_int_equal(cpu_time_of_host(&host), 0);
	assert_int_equal(cpu_time_of(getpid(), &own), 0);
	assert_true(own > 0);
	assert_true(host > own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_idle_or_waits_is_no_time_of_a_host),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(a_host_uses_what_its_processes_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
