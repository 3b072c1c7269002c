/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define UNTOUCHED UINT64_C(0xdead)

struct parse_case {
	const char *text;
	int result;
	uint64_t value;
};

static void check_parse(int (*parse)(const char *, uint64_t *), const struct parse_case *cases,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = UNTOUCHED;
		int r = parse(cases[i].text, &value);

		if (r != cases[i].result || (r == 0 && value != cases[i].value))
			fail_msg("'%s' gave %d, %llu", cases[i].text, r, (unsigned long long)value);
		if (r < 0 && value != UNTOUCHED)
			fail_msg("'%s' is refused but set the value", cases[i].text);
	}
}

static void sizes_are_read_with_binary_units_and_fractions(void **state)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "4096B", 0, 4096 },
		{ "007", 0, 7 },
		{ "64k", 0, 65536 },
		{ "64K", 0, 65536 },
		{ "64kB", 0, 65536 },
		{ "64KiB", 0, 65536 },
		{ "10M", 0, 10485760 },
		{ "2GiB", 0, 2147483648 },
		{ "1T", 0, 1099511627776 },
		{ "1.5M", 0, 1572864 },
		{ ".5g", 0, 536870912 },
		{ "0.1k", 0, 102 }, /* 102.4 */
		{ "1.99999999999999999999999999k", 0, 2047 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "16777215.9999999T", 0, 18446744073709441664ULL },
	};

	(void)state;
	check_parse(parse_size, cases, N_ELEMENTS(cases));
}

static void what_is_no_size_is_refused(void **state)
{
	static const struct parse_case cases[] = {
		{ "", -EINVAL, 0 },
		{ "k", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ "5.", -EINVAL, 0 },
		{ "1.5", -EINVAL, 0 }, /* half a byte */
		{ "1.5B", -EINVAL, 0 },
		{ "1..5k", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 k", -EINVAL, 0 },
		{ "1k ", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
		{ "1,5M", -EINVAL, 0 },
		{ "1Mi", -EINVAL, 0 },
		{ "1s", -EINVAL, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "99999999999999999999999999", -ERANGE, 0 },
		{ "16777216T", -ERANGE, 0 },
		{ "17179869184G", -ERANGE, 0 },
	};

	(void)state;
	check_parse(parse_size, cases, N_ELEMENTS(cases));
}

static void durations_are_seconds_unless_they_have_a_unit(void **state)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "5", 0, 5000000000 },
		{ "1.5", 0, 1500000000 },
		{ ".25", 0, 250000000 },
		{ "0.000000001", 0, 1 },
		{ "0.0000000001", 0, 0 },
		{ "7ns", 0, 7 },
		{ "7us", 0, 7000 },
		{ "100ms", 0, 100000000 },
		{ "10s", 0, 10000000000 },
		{ "2m", 0, 120000000000 },
		{ "12min", 0, 720000000000 },
		{ "1h", 0, 3600000000000 },
		{ "3d", 0, 259200000000000 },
		{ "0.5d", 0, 43200000000000 },
		{ "213503d", 0, 18446659200000000000ULL },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "5S", -EINVAL, 0 },
		{ "5M", -EINVAL, 0 }, /* neither a minute nor 2^20 of anything */
		{ "-5", -EINVAL, 0 },
		{ "5 s", -EINVAL, 0 },
		{ "1h30m", -EINVAL, 0 },
		{ "213504d", -ERANGE, 0 },
		{ "18446744074", -ERANGE, 0 },
	};

	(void)state;
	check_parse(parse_duration, cases, N_ELEMENTS(cases));
}

static void sizes_are_shown_in_the_unit_that_fits(void **state)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 4, "4 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 65536, "64.0 KiB" },
		{ 1075, "1.0 KiB" }, /* 1.0498 */
		{ 1076, "1.1 KiB" }, /* 1.0508 */
		{ 1023948, "999.9 KiB" },
		{ 1023949, "1000 KiB" },
		{ 1048063, "1023 KiB" },
		{ 1048064, "1.0 MiB" }, /* 1023.5 KiB */
		{ 1288490189, "1.2 GiB" },
		{ INT64_C(1) << 40, "1.0 TiB" },
		{ INT64_C(3) << 50, "3.0 PiB" },
		{ INT64_MAX, "8.0 EiB" },
		{ INT64_MIN, "-8.0 EiB" },
		{ -1, "-1 B" },
		{ -1023, "-1023 B" },
		{ -1023948, "-999.9 KiB" },
		{ -1047552, "-1023 KiB" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char buf[FORMAT_UNIT_LEN];

		assert_string_equal(format_size(cases[i].bytes, buf), cases[i].text);
		assert_true(strlen(buf) <= 10);
	}
}

static void counts_are_shown_in_powers_of_a_thousand(void **state)
{
	static const struct {
		int64_t count;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 812, "812" },
		{ 999, "999" },
		{ 1000, "1.0 k" },
		{ 1234, "1.2 k" },
		{ 999949, "999.9 k" },
		{ 999950, "1.0 M" },
		{ 3400000, "3.4 M" },
		{ 5000000000, "5.0 G" },
		{ INT64_C(7000000000000), "7.0 T" },
		{ INT64_C(7000000000000000), "7.0 P" },
		{ INT64_MAX, "9.2 E" },
		{ INT64_MIN, "-9.2 E" },
		{ -812, "-812" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char buf[FORMAT_UNIT_LEN];

		assert_string_equal(format_count(cases[i].count, buf), cases[i].text);
	}
}

static void durations_are_shown_in_the_unit_that_fits(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 s" },
		{ 1, "1 ns" },
		{ 999, "999 ns" },
		{ 1000, "1 us" },
		{ 999499, "999 us" },
		{ 999500, "1 ms" },
		{ 120000000, "120 ms" },
		{ 999499999, "999 ms" },
		{ 999500000, "1.0 s" },
		{ 3400000000, "3.4 s" },
		{ 59949999999, "59.9 s" },
		{ 59950000000, "1 min" },
		{ 720000000000, "12 min" },
		{ 3569999999999, "59 min" },
		{ 3570000000000, "1.0 h" },
		{ 18000000000000, "5.0 h" },
		{ 86400000000000, "1.0 d" },
		{ 276480000000000, "3.2 d" },
		{ UINT64_MAX, "213504.0 d" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char buf[FORMAT_UNIT_LEN];

		assert_string_equal(format_duration(cases[i].ns, buf), cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_read_with_binary_units_and_fractions),
		cmocka_unit_test(what_is_no_size_is_refused),
		cmocka_unit_test(durations_are_seconds_unless_they_have_a_unit),
		cmocka_unit_test(sizes_are_shown_in_the_unit_that_fits),
		cmocka_unit_test(counts_are_shown_in_powers_of_a_thousand),
		cmocka_unit_test(durations_are_shown_in_the_unit_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
