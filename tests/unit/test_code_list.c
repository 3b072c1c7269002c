/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/code_list.h"

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

/* A library comes, goes, and another comes to its place. */
static const struct abi_unwind_mapping story[] = {
	{ .start = 4096, .len = 8192, .object = 1 },
	{ .start = 4096, .len = 16384, .object = 0 },
	{ .start = 4096, .len = 8192, .object = 2 },
};

static void keeps_what_no_event_told_of_yet(void **state)
{
	static const struct {
		size_t noted, seen, kept;
	} cases[] = {
		{ 0, 0, 0 }, { 3, 0, 3 }, { 3, 1, 2 }, { 3, 2, 1 }, { 3, 3, 0 }, { 1, 3, 0 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct abi_unwind_space space = { .recents = cases[i].noted };
		size_t kept = cases[i].kept;

		memcpy(space.recent, story, cases[i].noted * sizeof(story[0]));
		code_list_drop_seen(&space, story, cases[i].seen);
		assert_int_equal(space.recents, kept);
		assert_memory_equal(space.recent, story + cases[i].seen, kept * sizeof(story[0]));
		for (size_t k = kept; k < ABI_UNWIND_RECENT; k++)
			assert_int_equal(space.recent[k].start, 0);
	}
}

static void a_seen_one_stands_for_one(void **state)
{
	struct abi_unwind_space space = { .recents = 2, .recent = { story[1], story[1] } };

	(void)state;
	code_list_drop_seen(&space, &story[1], 1);
	assert_int_equal(space.recents, 1);
	code_list_drop_seen(&space, &story[0], 1);
	assert_int_equal(space.recents, 1);
	/* What the programs had no room for is counted, but not there. */
	space.recents = ABI_UNWIND_RECENT + 5;
	code_list_drop_seen(&space, story, 0);
	assert_int_equal(space.recents, 1);
}

static void an_objects_new_number_does_not_matter(void **state)
{
	struct abi_unwind_space space = { .recents = 1, .recent = { story[0] } };
	struct abi_unwind_mapping renumbered = story[0];

	(void)state;
	renumbered.object = 77;
	code_list_drop_seen(&space, &renumbered, 1);
	assert_int_equal(space.recents, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_takes_its_range_from_others),
		cmocka_unit_test(finds_what_holds_an_address),
		cmocka_unit_test(keeps_what_no_event_told_of_yet),
		cmocka_unit_test(a_seen_one_stands_for_one),
		cmocka_unit_test(an_objects_new_number_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
