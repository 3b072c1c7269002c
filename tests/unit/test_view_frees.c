/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_frees.h"

#include "config/where.h"
#include "tests/report_fixture.h"

#define APP "/opt/demo/server"

enum { MADE = 71, MADE_AGAIN, HERE, HERE_AGAIN, THERE };

/* Of two ids of one site: `n` pairs. */
static void run_of(struct fixture *f, const struct record_free_pair *pairs, size_t n)
{
	const struct script *s = &f->script;

	fixture_init(f);
	emit_run(s);
	emit_function(s, 1, "malloc", "/lib/libc.so.6", 0x9a000);
	emit_function(s, 4, "free", "/lib/libc.so.6", 0x9c000);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_stack(s, MADE, 0, 2000, 0x10101);
	emit_stack(s, MADE_AGAIN, 0, 3000, 0x10101);
	emit_stack(s, HERE, 0, 2000, 0x10201);
	emit_stack(s, HERE_AGAIN, 0, 3000, 0x10201);
	emit_stack(s, THERE, 0, 2000, 0x10301);
	emit_cut(s, 9000);
	emit_totals(s, (struct record_totals){ .allocs = 20, .live_bytes = 64, .live_blocks = 1 });
	emit_site(
		s,
		(struct record_site){
			.fn = 1, .stack = MADE, .live_bytes = 64, .live_blocks = 1, .allocs = 10 });
	emit_site(s, (struct record_site){ .fn = 1, .stack = MADE_AGAIN, .allocs = 10 });
	for (size_t i = 0; i < n; i++)
		emit(s, &(struct record){ .type = RECORD_FREE_PAIR, .free_pair = pairs[i] });
	emit_coverage(s, true, 30, NULL, 0);
	emit_cut_end(s);
}

static const struct record_free_pair pairs[] = {
	{ .fn = 1,
	  .stack = MADE,
	  .free_fn = 4,
	  .free_stack = THERE,
	  .count = 2,
	  .bytes = 8,
	  .others = 2,
	  .total_ns = 9000,
	  .lifetimes = { [1] = 2 } },
	{ .fn = 1,
	  .stack = MADE,
	  .free_fn = 4,
	  .free_stack = HERE,
	  .count = 3,
	  .bytes = 30,
	  .others = 1,
	  .unknown = 1,
	  .total_ns = 5000,
	  .lifetimes = { [0] = 1, [1] = 1 } },
	{ .fn = 1,
	  .stack = MADE_AGAIN,
	  .free_fn = 4,
	  .free_stack = HERE_AGAIN,
	  .count = 4,
	  .bytes = 40,
	  .total_ns = 1000,
	  .lifetimes = { [0] = 4 } },
	/* Of a site that no record tells of. */
	{ .fn = 1, .stack = 99, .free_fn = 4, .free_stack = HERE, .count = 7 },
};

static void places_that_are_the_same_are_one(void **state)
{
	const struct view_process *process;
	const struct view_frees *frees;
	struct fixture f;

	(void)state;
	run_of(&f, pairs, sizeof(pairs) / sizeof(pairs[0]));
	process = view_process(fixture_view(&f, NULL), 0);
	assert_int_equal(process->n_sites, 1);
	frees = &process->sites[0].frees;
	assert_int_equal(frees->n, 2);
	assert_int_equal(frees->count, 9);
	assert_int_equal(frees->unknown, 1);
	assert_int_equal(frees->total_ns, 15000);
	/* The most blocks come first. */
	assert_int_equal(frees->list[0].count, 7);
	assert_int_equal(frees->list[0].bytes, 70);
	assert_int_equal(frees->list[0].others, 1);
	assert_int_equal(frees->list[0].lifetimes[0], 5);
	assert_int_equal(frees->list[0].lifetimes[1], 1);
	assert_int_equal(view_stack_place(&frees->list[0].stack, 1)->addr, 0x10201);
	assert_int_equal(frees->list[1].count, 2);
	assert_string_equal(view_stack_place(&frees->list[1].stack, 0)->alloc, "free");
	fixture_done(&f);
}

static void sites_are_filtered_by_the_mean_of_lifetimes(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} cases[] = {
		{ "lifetime = 1875ns", 1 },
		{ "lifetime > 2us", 0 },
		{ "lifetime < 2us", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(where_free_p) struct where *where = NULL;
		_cleanup_strbuf_ struct strbuf error = { 0 };
		const struct view *view;
		struct fixture f;

		run_of(&f, pairs, sizeof(pairs) / sizeof(pairs[0]));
		assert_int_equal(where_parse(cases[i].text, &where, &error), 0);
		view = fixture_view(&f, &(struct report_opts){ .where = where });
		assert_int_equal(view_process(view, 0)->n_sites, cases[i].n);
		fixture_done(&f);
	}
}

static void buckets_are_powers_of_two(void **state)
{
	(void)state;
	assert_int_equal(view_lifetime_from_ns(0), 0);
	assert_int_equal(view_lifetime_from_ns(1), 4096);
	assert_int_equal(view_lifetime_from_ns(2), 8192);
	assert_int_equal(view_lifetime_from_ns(RECORD_LIFETIMES - 1), 1ull << 42);
}

static void the_median_and_the_mean_are_of_what_is_known(void **state)
{
	static const struct {
		struct view_free place;
		size_t median;
		uint64_t mean_ns;
	} cases[] = {
		{ { .count = 0 }, RECORD_LIFETIMES, UINT64_MAX },
		{ { .count = 3, .unknown = 3 }, RECORD_LIFETIMES, UINT64_MAX },
		{ { .count = 1, .total_ns = 7, .lifetimes = { [5] = 1 } }, 5, 7 },
		{ { .count = 2, .total_ns = 7, .lifetimes = { [2] = 1, [5] = 1 } }, 2, 3 },
		{ { .count = 9, .unknown = 6, .total_ns = 9, .lifetimes = { 1, [3] = 2 } }, 3, 3 },
		/* Less than it should be: damaged. */
		{ { .count = 9, .total_ns = 9, .lifetimes = { 1 } }, RECORD_LIFETIMES, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct view_free *place = &cases[i].place;

		assert_int_equal(view_free_median(place), cases[i].median);
		assert_int_equal(view_frees_mean_ns(place->total_ns, place->count, place->unknown),
				 cases[i].mean_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_that_are_the_same_are_one),
		cmocka_unit_test(sites_are_filtered_by_the_mean_of_lifetimes),
		cmocka_unit_test(buckets_are_powers_of_two),
		cmocka_unit_test(the_median_and_the_mean_are_of_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
