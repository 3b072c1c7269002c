/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/regions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state)
{
	return regions_new((struct regions **)state);
}

static int teardown(void **state)
{
	regions_free(*state);
	return 0;
}

static struct region_site site_of(const struct regions *regions, uint64_t stack)
{
	struct region_site *sites, found = { 0 };
	size_t n;

	assert_int_equal(regions_sites(regions, 0, &sites, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (sites[i].stack == stack)
			found = sites[i];
	free(sites);
	return found;
}

static void map(struct regions *regions, uint64_t start, uint64_t end, uint64_t stack,
		uint64_t time_ns)
{
	assert_int_equal(regions_map(regions, start, end, 1, stack, time_ns), 0);
}

static void unmap_takes_exactly_its_range(void **state)
{
	/* On regions [10,20) of stack 1, [20,30) of stack 2, [40,50) of stack 1. */
	static const struct {
		uint64_t start, end;
		int64_t bytes_1, blocks_1, bytes_2, blocks_2;
	} cases[] = {
		{ 0, 10, 20, 2, 10, 1 },  { 30, 40, 20, 2, 10, 1 }, { 50, 60, 20, 2, 10, 1 },
		{ 0, 15, 15, 2, 10, 1 },  { 15, 20, 15, 2, 10, 1 }, { 10, 20, 10, 1, 10, 1 },
		{ 12, 15, 17, 3, 10, 1 }, { 19, 21, 19, 2, 9, 1 },  { 15, 45, 10, 2, 0, 0 },
		{ 0, 60, 0, 0, 0, 0 },	  { 10, 50, 0, 0, 0, 0 },   { 25, 25, 20, 2, 10, 1 },
		{ 25, 20, 20, 2, 10, 1 }, { 5, 41, 9, 1, 0, 0 },    { 20, 30, 20, 2, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(regions_free_p) struct regions *regions = NULL;
		struct region_site one, two;
		struct region_totals totals;

		assert_int_equal(regions_new(&regions), 0);
		map(regions, 40, 50, 1, 0);
		map(regions, 10, 20, 1, 0);
		map(regions, 20, 30, 2, 0);
		assert_int_equal(regions_unmap(regions, cases[i].start, cases[i].end), 0);
		one = site_of(regions, 1);
		two = site_of(regions, 2);
		assert_int_equal(one.live_bytes, cases[i].bytes_1);
		assert_int_equal(one.live_blocks, cases[i].blocks_1);
		assert_int_equal(two.live_bytes, cases[i].bytes_2);
		assert_int_equal(two.live_blocks, cases[i].blocks_2);
		assert_int_equal(one.allocs, 2);
		assert_int_equal(one.bytes, 20);
		regions_totals(regions, &totals);
		assert_int_equal(totals.live_bytes, cases[i].bytes_1 + cases[i].bytes_2);
		assert_int_equal(totals.live_blocks, cases[i].blocks_1 + cases[i].blocks_2);
		assert_int_equal(totals.bytes, 30);
		assert_int_equal(totals.peak_bytes, 30);
	}
}

static void what_is_left_of_ranges_since_a_time_is_young(void **state)
{
	struct regions *regions = *state;
	struct region_site *sites;
	size_t n;

	map(regions, 10, 20, 1, 5);
	map(regions, 30, 40, 1, 9);
	map(regions, 50, 60, 1, 10);
	map(regions, 70, 80, 1, 11);
	assert_int_equal(regions_unmap(regions, 52, 54), 0);
	assert_int_equal(regions_sites(regions, 10, &sites, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(sites[0].live_bytes, 38);
	assert_int_equal(sites[0].young_bytes, 8 + 10);
	assert_int_equal(sites[0].young_blocks, 3);
	free(sites);
}

static void mapping_over_a_region_replaces_it(void **state)
{
	struct regions *regions = *state;

	map(regions, 100, 200, 1, 5);
	map(regions, 150, 250, 2, 6);
	assert_int_equal(site_of(regions, 1).live_bytes, 50);
	assert_int_equal(site_of(regions, 2).live_bytes, 100);
	map(regions, 0, 1000, 3, 7);
	assert_int_equal(site_of(regions, 1).live_bytes, 0);
	assert_int_equal(site_of(regions, 1).live_blocks, 0);
	assert_int_equal(site_of(regions, 2).live_bytes, 0);
	assert_int_equal(site_of(regions, 3).live_bytes, 1000);
}

static void functions_at_one_stack_are_sites_of_their_own(void **state)
{
	struct regions *regions = *state;
	struct region_site *sites;
	size_t n;

	assert_int_equal(regions_map(regions, 0, 10, 1, 7, 0), 0);
	assert_int_equal(regions_map(regions, 10, 20, 2, 7, 0), 0);
	assert_int_equal(regions_sites(regions, 0, &sites, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(sites[0].fn, 1);
	assert_int_equal(sites[1].fn, 2);
	free(sites);
}

static void site_shares_of_the_peak_add_up_to_it(void **state)
{
	struct regions *regions = *state;
	struct region_totals totals;

	map(regions, 0, 100, 1, 0);
	map(regions, 100, 150, 2, 0);
	assert_int_equal(regions_unmap(regions, 0, 100), 0);
	map(regions, 200, 230, 3, 0);
	map(regions, 300, 310, 2, 0);
	regions_totals(regions, &totals);
	assert_int_equal(totals.peak_bytes, 150);
	assert_int_equal(site_of(regions, 1).peak_bytes, 100);
	assert_int_equal(site_of(regions, 2).peak_bytes, 50);
	assert_int_equal(site_of(regions, 3).peak_bytes, 0);

	/* A new peak: everything counts as it is then. */
	map(regions, 400, 500, 1, 0);
	regions_totals(regions, &totals);
	assert_int_equal(totals.peak_bytes, 190);
	assert_int_equal(regions_unmap(regions, 0, 1000), 0);
	assert_int_equal(site_of(regions, 1).peak_bytes, 100);
	assert_int_equal(site_of(regions, 2).peak_bytes, 60);
	assert_int_equal(site_of(regions, 3).peak_bytes, 30);
}

static void births_are_those_of_what_is_live(void **state)
{
	struct regions *regions = *state;

	map(regions, 0, 10, 1, 100);
	map(regions, 10, 20, 1, 200);
	map(regions, 20, 30, 1, 300);
	assert_int_equal(site_of(regions, 1).oldest_birth_ns, 100);
	assert_int_equal(site_of(regions, 1).newest_birth_ns, 300);
	assert_int_equal(regions_unmap(regions, 0, 10), 0);
	assert_int_equal(regions_unmap(regions, 22, 25), 0);
	assert_int_equal(site_of(regions, 1).oldest_birth_ns, 200);
	assert_int_equal(site_of(regions, 1).newest_birth_ns, 300);
	assert_int_equal(regions_unmap(regions, 0, 30), 0);
	assert_true(site_of(regions, 1).oldest_birth_ns == UINT64_MAX);
	assert_true(site_of(regions, 1).newest_birth_ns == UINT64_MAX);
}

static void end_keeps_what_was_held(void **state)
{
	struct regions *regions = *state;

	map(regions, 0, 10, 1, 100);
	map(regions, 10, 20, 1, 200);
	regions_end(regions);
	assert_int_equal(regions_unmap(regions, 0, 100), 0);
	assert_int_equal(site_of(regions, 1).live_bytes, 20);
	assert_int_equal(site_of(regions, 1).oldest_birth_ns, 100);
	assert_int_equal(site_of(regions, 1).newest_birth_ns, 200);
}

static void inherited_regions_are_live_but_not_counted_as_calls(void **state)
{
	struct regions *parent = *state;
	_cleanup_(regions_free_p) struct regions *child = NULL;
	struct region_totals totals;

	map(parent, 0, 10, 1, 100);
	map(parent, 20, 25, 2, 100);
	assert_int_equal(regions_unmap(parent, 4, 6), 0);
	assert_int_equal(regions_new_inherited(parent, &child), 0);
	assert_int_equal(regions_unmap(parent, 0, 30), 0);
	regions_totals(child, &totals);
	assert_int_equal(totals.live_bytes, 13);
	assert_int_equal(totals.live_blocks, 3);
	assert_int_equal(totals.allocs, 0);
	assert_int_equal(totals.peak_bytes, 13);
	assert_int_equal(site_of(child, 1).live_bytes, 8);
	assert_int_equal(site_of(child, 1).peak_bytes, 8);
	assert_int_equal(site_of(child, 2).oldest_birth_ns, 100);
}

#define PAGES 200
#define SITES 5

/* The same by the slowest means: who owns each page. */
struct oracle {
	int owner[PAGES]; /* stack id; 0: nobody */
	int64_t peak, at_peak[SITES + 1];
};

static int64_t oracle_live(const struct oracle *o, int stack)
{
	int64_t n = 0;

	for (size_t i = 0; i < PAGES; i++)
		n += stack < 0 ? o->owner[i] != 0 : o->owner[i] == stack;
	return n;
}

static void oracle_set(struct oracle *o, uint64_t start, uint64_t end, int stack)
{
	for (uint64_t i = start; i < end; i++)
		o->owner[i] = stack;
	if (oracle_live(o, -1) > o->peak) {
		o->peak = oracle_live(o, -1);
		for (int s = 1; s <= SITES; s++)
			o->at_peak[s] = oracle_live(o, s);
	}
}

/* [100 i, 100 i + 10) of stack 1, n times. */
static void map_some(struct regions *regions, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++)
		map(regions, 100 * i, 100 * i + 10, 1, i);
}

static void what_is_over_the_limit_is_counted_and_not_held(void **state)
{
	_cleanup_(regions_free_p) struct regions *child = NULL;
	struct regions *regions = *state;
	struct region_totals totals;

	regions_limit(regions, 4);
	map_some(regions, 1, 6);
	regions_totals(regions, &totals);
	assert_int_equal(totals.allocs, 6);
	assert_int_equal(totals.bytes, 60);
	assert_int_equal(totals.live_bytes, 40);
	assert_int_equal(totals.live_blocks, 4);
	assert_int_equal(totals.peak_bytes, 40);
	assert_int_equal(totals.left_out, 2);
	/* What was left out is not there to be unmapped. */
	assert_int_equal(regions_unmap(regions, 500, 700), 0);
	/* A hole would make two of one: the upper part is left out. */
	assert_int_equal(regions_unmap(regions, 102, 105), 0);
	regions_totals(regions, &totals);
	assert_int_equal(totals.live_bytes, 32);
	assert_int_equal(totals.live_blocks, 4);
	assert_int_equal(totals.left_out, 3);
	/* What is mapped over another takes its place. */
	map(regions, 200, 210, 2, 9);
	assert_int_equal(site_of(regions, 2).live_bytes, 10);
	assert_int_equal(regions_new_inherited(regions, &child), 0);
	map_some(child, 7, 1);
	assert_int_equal(regions_left_out(child), 4);
	assert_int_equal(regions_left_out(regions), 3);
	/* There is room again. */
	assert_int_equal(regions_unmap(regions, 300, 310), 0);
	map_some(regions, 8, 1);
	regions_totals(regions, &totals);
	assert_int_equal(totals.live_bytes, 32);
	assert_int_equal(totals.left_out, 3);
	assert_int_equal(regions_count(regions), 4);
	assert_int_equal(regions_n_sites(regions), 2);
}

/* As mmap and brk have them: from the middle, or from one end. */
static void thousands_come_and_go_at_both_ends_and_between(void **state)
{
	struct regions *regions = *state;
	struct range *ranges;
	size_t n;

	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t page = i % 3 == 0 ? 20000 + i :
				i % 3 == 1 ? 20000 - i :
					     40000 + 7 * i % 9973;

		map(regions, 2 * page, 2 * page + 1, 1 + i % 7, i);
	}
	assert_int_equal(regions_ranges(regions, &ranges, &n), 0);
	assert_int_equal(n, 5000);
	assert_int_equal(regions_count(regions), 5000);
	for (size_t i = 1; i < n; i++)
		assert_true(ranges[i - 1].end < ranges[i].start);
	/* Each second one, then the rest by halves. */
	for (size_t i = 0; i < n; i += 2)
		assert_int_equal(regions_unmap(regions, ranges[i].start, ranges[i].end), 0);
	assert_int_equal(regions_count(regions), 2500);
	assert_int_equal(regions_unmap(regions, 0, ranges[n / 2].start), 0);
	assert_int_equal(regions_count(regions), 1250);
	assert_int_equal(regions_unmap(regions, ranges[n / 2].start, UINT64_MAX), 0);
	assert_int_equal(regions_count(regions), 0);
	for (uint64_t stack = 1; stack <= 7; stack++)
		assert_int_equal(site_of(regions, stack).live_blocks, 0);
	free(ranges);
}

static void random_operations_agree_with_a_page_by_page_count(void **state)
{
	struct regions *regions = *state;
	struct oracle oracle = { 0 };
	unsigned int seed = 12345;

	for (int i = 0; i < 3000; i++) {
		uint64_t start = rand_r(&seed) % PAGES;
		uint64_t end = start + rand_r(&seed) % 20;
		int stack = 1 + rand_r(&seed) % SITES;
		bool unmaps = rand_r(&seed) % 3 == 0;
		struct region_totals totals;

		if (end > PAGES)
			end = PAGES;
		if (unmaps)
			assert_int_equal(regions_unmap(regions, start, end), 0);
		else
			map(regions, start, end, stack, i);
		oracle_set(&oracle, start, end, unmaps ? 0 : stack);
		regions_totals(regions, &totals);
		assert_int_equal(totals.live_bytes, oracle_live(&oracle, -1));
		assert_int_equal(totals.peak_bytes, oracle.peak);
		for (int s = 1; s <= SITES && i % 10 == 0; s++) {
			assert_int_equal(site_of(regions, s).live_bytes, oracle_live(&oracle, s));
			assert_int_equal(site_of(regions, s).peak_bytes, oracle.at_peak[s]);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unmap_takes_exactly_its_range),
		TEST(what_is_left_of_ranges_since_a_time_is_young),
		TEST(mapping_over_a_region_replaces_it),
		TEST(functions_at_one_stack_are_sites_of_their_own),
		TEST(site_shares_of_the_peak_add_up_to_it),
		TEST(births_are_those_of_what_is_live),
		TEST(end_keeps_what_was_held),
		TEST(inherited_regions_are_live_but_not_counted_as_calls),
		TEST(what_is_over_the_limit_is_counted_and_not_held),
		TEST(thousands_come_and_go_at_both_ends_and_between),
		TEST(random_operations_agree_with_a_page_by_page_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
