/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/jit_codes.h"

#include "base/clock.h"
#include "sandbox/work_limit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BASE 0x7f0000001000ULL

static void add(struct jit_codes *codes, uint32_t image, uint64_t start, uint64_t size,
		uint64_t since_ns, const char *name)
{
	const struct record_jit_code record = {
		.image = { image },
		.start = start,
		.size_bytes = size,
		.since_ns = since_ns,
		.name = name,
		.source = "/tmp/perf-7.map",
	};

	assert_int_equal(jit_codes_add(codes, &record), 0);
}

/* NULL: nothing is known. */
static void expect(struct jit_codes *codes, uint32_t image, uint64_t addr, bool is_call,
		   uint64_t time_ns, const char *name)
{
	struct jit_place place;
	int r = jit_codes_find(codes, (image_t){ image }, addr, is_call, time_ns, &place);

	if (!name) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(place.frame.function, name);
	assert_string_equal(place.source, "/tmp/perf-7.map");
}

static int setup(void **state)
{
	return jit_codes_new((struct jit_codes **)state);
}

static int teardown(void **state)
{
	jit_codes_free(*state);
	return 0;
}

static void return_address_belongs_to_the_code_before_it(void **state)
{
	struct jit_codes *codes = *state;
	struct jit_place place;

	add(codes, 1, BASE, 0x40, 0, "first");
	add(codes, 1, BASE + 0x40, 0x40, 0, "_ZN4test4main17h89abcdef01234567E");
	expect(codes, 1, BASE, false, 5, "first");
	expect(codes, 1, BASE, true, 5, NULL);
	expect(codes, 1, BASE + 0x40, true, 5, "first");
	expect(codes, 1, BASE + 0x40, false, 5, "test::main");
	expect(codes, 1, BASE + 0x80, true, 5, "test::main");
	expect(codes, 1, BASE + 0x80, false, 5, NULL);
	expect(codes, 2, BASE, false, 5, NULL);
	assert_int_equal(jit_codes_find(codes, (image_t){ 1 }, BASE + 0x40, true, 5, &place), 0);
	assert_int_equal(place.frame.offset, 0x40);
	assert_int_equal(jit_codes_find(codes, (image_t){ 1 }, BASE + 0x50, true, 5, &place), 0);
	assert_string_equal(place.frame.linkage, "_ZN4test4main17h89abcdef01234567E");
}

static void code_is_what_was_newest_at_the_time(void **state)
{
	struct jit_codes *codes = *state;

	add(codes, 1, BASE, 0x1000, 100, "old");
	add(codes, 1, BASE + 0x100, 0x10, 300, "newest");
	add(codes, 1, BASE + 0x80, 0x100, 200, "newer");
	expect(codes, 1, BASE + 0x108, false, 99, NULL);
	expect(codes, 1, BASE + 0x108, false, 100, "old");
	expect(codes, 1, BASE + 0x108, false, 299, "newer");
	expect(codes, 1, BASE + 0x108, false, 300, "newest");
	expect(codes, 1, BASE + 0x110, false, 300, "newer");
	expect(codes, 1, BASE + 0x180, false, 300, "old");
}

static void of_code_without_times_the_later_said_holds(void **state)
{
	struct jit_codes *codes = *state;

	add(codes, 1, BASE, 0x40, 0, "before");
	add(codes, 1, BASE + 0x20, 0x40, 0, "after");
	expect(codes, 1, BASE + 0x1f, false, 1, "before");
	expect(codes, 1, BASE + 0x20, false, 1, "after");
	add(codes, 1, BASE, 0x30, 0, "last");
	expect(codes, 1, BASE + 0x20, false, 1, "last");
	expect(codes, 1, BASE + 0x30, false, 1, "after");
}

static void lines_hold_up_to_the_next(void **state)
{
	static const struct record_jit_line lines[] = { { 4, 10, "a.js" }, { 16, 12, "b.js" } };
	static const struct {
		uint64_t offset;
		bool is_call;
		uint32_t line;
		const char *file;
	} cases[] = {
		{ 0, false, 0, NULL },	   { 4, false, 10, "a.js" }, { 15, false, 10, "a.js" },
		{ 16, false, 12, "b.js" }, { 16, true, 10, "a.js" }, { 63, false, 12, "b.js" },
	};
	const struct record_jit_code record = {
		.start = BASE,
		.size_bytes = 64,
		.name = "f",
		.source = "jit-7.dump",
		.n_lines = 2,
		.lines = lines,
	};
	struct jit_codes *codes = *state;

	assert_int_equal(jit_codes_add(codes, &record), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jit_place place;

		assert_int_equal(jit_codes_find(codes, (image_t){ 0 }, BASE + cases[i].offset,
						cases[i].is_call, 1, &place),
				 0);
		assert_int_equal(place.frame.line, cases[i].line);
		if (cases[i].file)
			assert_string_equal(place.frame.file, cases[i].file);
		else
			assert_null(place.frame.file);
	}
}

static void what_cannot_be_code_is_ignored(void **state)
{
	struct jit_codes *codes = *state;

	add(codes, 1, BASE, 0, 0, "empty");
	add(codes, 1, BASE, UINT64_MAX, 0, "endless");
	add(codes, 1, BASE, 0x10, 0, "");
	expect(codes, 1, BASE, false, 1, NULL);
	expect(codes, 1, 0, true, 1, NULL);
}

/* The process dies when it takes too long: each would go through all of the codes. */
static void codes_below_one_that_reaches_over_all_are_found_at_once(void **state)
{
	struct jit_codes *codes = *state;
	const uint64_t n = 200000;

	work_limit_set(4 * SECOND_NS);
	add(codes, 1, BASE, n * 0x10 + 0x1000, 0, "all");
	for (uint64_t i = 1; i < n; i++)
		add(codes, 1, BASE + i * 0x10, 8, 1, "one");
	for (uint64_t i = 1; i < n / 4; i++) {
		expect(codes, 1, BASE + (n - i) * 0x10, false, 1, "one");
		expect(codes, 1, BASE + (n - i) * 0x10 + 9, false, 1, NULL); /* too far back */
	}
	expect(codes, 1, BASE + 0x19, false, 1, "all");
	work_limit_set(0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(return_address_belongs_to_the_code_before_it),
		TEST(code_is_what_was_newest_at_the_time),
		TEST(of_code_without_times_the_later_said_holds),
		TEST(lines_hold_up_to_the_next),
		TEST(what_cannot_be_code_is_ignored),
		TEST(codes_below_one_that_reaches_over_all_are_found_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
