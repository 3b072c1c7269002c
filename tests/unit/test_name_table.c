/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of string tables that others wrote. */
#include "elf/elf_read.h"

#include "base/clock.h"
#include "sandbox/work_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void names_are_found_with_their_lengths(void **state)
{
	static const char bytes[] = "\0one\0two";
	struct name_table names = name_table_of(bytes, sizeof(bytes));
	size_t len = 99;

	(void)state;
	assert_string_equal(name_table_get(&names, 0, &len), "");
	assert_int_equal(len, 0);
	assert_string_equal(name_table_get(&names, 1, &len), "one");
	assert_int_equal(len, 3);
	assert_string_equal(name_table_get(&names, 6, &len), "wo");
	assert_int_equal(len, 2);
	assert_null(name_table_get(&names, sizeof(bytes), &len));
	assert_null(name_table_get(&names, UINT64_MAX, &len));
}

static void what_has_no_end_is_no_name(void **state)
{
	static const char bytes[] = { '\0', 'o', 'n', 'e', '\0', 't', 'w', 'o' };
	struct name_table names = name_table_of(bytes, sizeof(bytes));
	size_t len;

	(void)state;
	assert_string_equal(name_table_get(&names, 1, &len), "one");
	assert_null(name_table_get(&names, 5, &len));
	names = name_table_of(bytes + 5, 3);
	assert_null(name_table_get(&names, 0, &len));
	names = name_table_of(NULL, 0);
	assert_null(name_table_get(&names, 0, &len));
}

static void a_name_has_a_greatest_length(void **state)
{
	const size_t size = 2 * NAME_TABLE_MAX_NAME;
	char *bytes = malloc(size);
	struct name_table names;
	size_t len;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'A', size - 1);
	bytes[size - 1] = '\0';
	names = name_table_of(bytes, size);
	assert_null(name_table_get(&names, size - 2 - NAME_TABLE_MAX_NAME, &len));
	assert_non_null(name_table_get(&names, size - 1 - NAME_TABLE_MAX_NAME, &len));
	assert_int_equal(len, NAME_TABLE_MAX_NAME);
	free(bytes);
}

/* Ten million names of a table of 16 MiB; of longest names they would be 160 GB. */
static void all_together_have_a_greatest_length(void **state)
{
	const size_t size = 16 << 20;
	char *bytes = malloc(size);
	struct name_table names;
	uint64_t sum = 0;
	size_t len;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'A', size);
	for (size_t i = NAME_TABLE_MAX_NAME; i <= size; i += NAME_TABLE_MAX_NAME)
		bytes[i - 1] = '\0';
	names = name_table_of(bytes, size);
	work_limit_set(4 * SECOND_NS);
	for (int i = 0; i < 10000000; i++)
		if (name_table_get(&names, (uint64_t)(i % 1000) * NAME_TABLE_MAX_NAME, &len))
			sum += len;
	work_limit_set(0);
	assert_in_range(sum, 15 * (uint64_t)size, 20 * (uint64_t)size);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_with_their_lengths),
		cmocka_unit_test(what_has_no_end_is_no_name),
		cmocka_unit_test(a_name_has_a_greatest_length),
		cmocka_unit_test(all_together_have_a_greatest_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
