/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/code_list.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct abi_unwind_mapping mapping(uint64_t start, uint64_t end, uint32_t rel,
					 uint32_t object)
{
	return (struct abi_unwind_mapping){
		.start = start, .len = end - start, .rel = rel, .object = object
	};
}

static void put(struct code_list *list, uint64_t start, uint64_t end, uint32_t rel, uint32_t object)
{
	const struct abi_unwind_mapping map = mapping(start, end, rel, object);

	assert_int_equal(code_list_put(list, &map), 0);
}

/* On [10,20) of object 1 from 100, [20,30) of object 2 from 200, [40,50) of object 3 from
	 * 300 comes [start,end) of object 4 from 400; expected: start, end, rel, object. */
static const struct {
	uint64_t start, end;
	uint32_t expected[6][4];
} put_cases[] = {
	{ 0,
	  10,
	  { { 0, 10, 400, 4 }, { 10, 20, 100, 1 }, { 20, 30, 200, 2 }, { 40, 50, 300, 3 } } },
	{ 30,
	  40,
	  { { 10, 20, 100, 1 }, { 20, 30, 200, 2 }, { 30, 40, 400, 4 }, { 40, 50, 300, 3 } } },
	{ 60,
	  70,
	  { { 10, 20, 100, 1 }, { 20, 30, 200, 2 }, { 40, 50, 300, 3 }, { 60, 70, 400, 4 } } },
	{ 10, 20, { { 10, 20, 400, 4 }, { 20, 30, 200, 2 }, { 40, 50, 300, 3 } } },
	{ 12,
	  15,
	  { { 10, 12, 100, 1 },
	    { 12, 15, 400, 4 },
	    { 15, 20, 105, 1 },
	    { 20, 30, 200, 2 },
	    { 40, 50, 300, 3 } } },
	{ 15,
	  25,
	  { { 10, 15, 100, 1 }, { 15, 25, 400, 4 }, { 25, 30, 205, 2 }, { 40, 50, 300, 3 } } },
	{ 5, 45, { { 5, 45, 400, 4 }, { 45, 50, 305, 3 } } },
	{ 0, 60, { { 0, 60, 400, 4 } } },
};

static void a_mapping_takes_its_range_from_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof(put_cases) / sizeof(put_cases[0]); i++) {
		const bool cuts = i & 1; /* object 0: no code is there any more */
		const uint32_t(*expected)[4] = put_cases[i / 2].expected;
		_cleanup_(code_list_done) struct code_list list = {};
		size_t n = 0;

		put(&list, 20, 30, 200, 2);
		put(&list, 40, 50, 300, 3);
		put(&list, 10, 20, 100, 1);
		put(&list, put_cases[i / 2].start, put_cases[i / 2].end, 400, cuts ? 0 : 4);
		for (; (*expected)[1]; expected++) {
			const struct abi_unwind_mapping *map;

			if (cuts && (*expected)[3] == 4)
				continue;
			assert_true(n < list.maps.len);
			map = &list.maps.data[n++];
			assert_int_equal(map->start, (*expected)[0]);
			assert_int_equal(map->start + map->len, (*expected)[1]);
			assert_int_equal(map->rel, (*expected)[2]);
			assert_int_equal(map->object, (*expected)[3]);
		}
		assert_int_equal(list.maps.len, n);
	}
}

static void finds_what_holds_an_address(void **state)
{
	static const struct {
		uint64_t addr;
		uint32_t object; /* 0: none */
	} cases[] = { { 0, 0 },	 { 9, 0 },  { 10, 1 }, { 19, 1 }, { 20, 2 }, { 29, 2 },
		      { 30, 0 }, { 39, 0 }, { 40, 3 }, { 49, 3 }, { 50, 0 }, { UINT64_MAX, 0 } };
	_cleanup_(code_list_done) struct code_list list = {}, copy = {};

	(void)state;
	assert_null(code_list_at(&list, 10));
	put(&list, 40, 50, 0, 3);
	put(&list, 10, 20, 0, 1);
	put(&list, 20, 30, 0, 2);
	assert_int_equal(code_list_copy(&list, &copy), 0);
	put(&list, 0, 100, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct abi_unwind_mapping *map = code_list_at(&copy, cases[i].addr);

		assert_int_equal(map ? map->object : 0, cases[i].object);
	}
	assert_int_equal(list.maps.len, 0);
}

static void numbers_are_merged_without_gaps(void **state)
{
	static const struct {
		uint32_t add[6];
		uint32_t merged;
	} cases[] = {
		{ { 0 }, 0 },
		{ { 1, 2, 3 }, 3 },
		{ { 2 }, 0 },
		{ { 2, 1 }, 2 },
		{ { 3, 1, 2, 4 }, 4 },
		{ { 1, 3, 4 }, 1 },
		{ { 1, 1, 2, 2, 1 }, 2 },
		/* Number 2 was lost: no longer waited for when there is no room for it any more. */
		{ { 1, 3, 2 + ABI_UNWIND_RECENT - 1 }, 1 },
		{ { 1, 3, 2 + ABI_UNWIND_RECENT }, 3 },
		{ { 1, 3, 4, 1000 }, 1000 - ABI_UNWIND_RECENT },
		{ { 1, 3, 4, 1000, 1001 - ABI_UNWIND_RECENT }, 1001 - ABI_UNWIND_RECENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code_numbers numbers = {};

		for (size_t k = 0; k < 6 && cases[i].add[k]; k++)
			code_numbers_add(&numbers, cases[i].add[k]);
		assert_int_equal(numbers.merged, cases[i].merged);
	}
}

/* What the programs compare with, after 2^24 mappings too. */
static void a_word_says_how_many_are_news(void **state)
{
	static const struct {
		uint32_t merged, appended, news;
	} cases[] = { { 0, 0, 0 },
		      { 5, 7, 2 },
		      { 7, 7, 0 },
		      { 0xffffff, 0xffffff, 0 },
		      { 0xfffffe, 0x1000001, 3 },
		      { 0x1000002, 0x1000003, 1 },
		      { 8, 7, 0xffffff } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t word = ABI_UNWIND_SORTED(0xfedcb, 0x12345, cases[i].merged);

		assert_int_equal(ABI_UNWIND_FIRST(word), 0xfedcb);
		assert_int_equal(ABI_UNWIND_N(word), 0x12345);
		assert_int_equal(ABI_UNWIND_NEWS(word, cases[i].appended), cases[i].news);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_takes_its_range_from_others),
		cmocka_unit_test(finds_what_holds_an_address),
		cmocka_unit_test(numbers_are_merged_without_gaps),
		cmocka_unit_test(a_word_says_how_many_are_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
