/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "model/series.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND 1000000000ULL

static void begin(struct series *series, uint64_t second)
{
	struct record_sample record = { second * SECOND };

	assert_int_equal(series_begin(series, &record), 0);
}

static void process(struct series *series, uint32_t image, int64_t live_bytes)
{
	struct record_sample_process record = { .image = { image }, .live_bytes = live_bytes };

	assert_int_equal(series_add_process(series, &record), 0);
}

static void site(struct series *series, uint32_t image, uint64_t stack, int64_t live_bytes)
{
	struct record_sample_site record = { { image }, 2, stack, live_bytes };

	assert_int_equal(series_add_site(series, &record), 0);
}

static void end(struct series *series, uint64_t n_left_out, int64_t most_bytes)
{
	struct record_sample_end record = { n_left_out, most_bytes, 0 };

	assert_int_equal(series_end(series, &record), 0);
}

static struct series *new_series(void)
{
	struct series *series;

	assert_int_equal(series_new(&series), 0);
	return series;
}

/* Values that tell when they were taken: the process holds t, the site of stack s holds s * t. */
static void take(struct series *series, uint64_t second, uint64_t site_from)
{
	begin(series, second);
	process(series, 1, (int64_t)second);
	if (second >= site_from)
		site(series, 1, 3, (int64_t)(3 * second));
	end(series, 0, 0);
}

static void samples_that_are_too_many_become_half_as_many(void **state)
{
	_cleanup_(series_free_p) struct series *series = new_series();
	unsigned int halvings = 0;

	(void)state;
	for (uint64_t t = 1; t <= 10 * SERIES_POINTS; t++) {
		struct series_process p;
		struct series_site s;
		const uint64_t *times;
		size_t n;

		take(series, t, 100);
		times = series_times(series, &n);
		assert_true(n < SERIES_POINTS && n >= (t < SERIES_POINTS ? t : SERIES_POINTS / 2));
		assert_int_equal(times[n - 1], t * SECOND); /* the newest stays */
		assert_true(series_halvings(series) >= halvings);
		halvings = series_halvings(series);

		assert_true(series_of_process(series, (image_t){ 1 }, &p));
		assert_int_equal(p.first, 0);
		assert_int_equal(p.n, n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p.points[i].live_bytes * SECOND, times[i]);
		assert_int_equal(series_of_site(series, (image_t){ 1 }, 2, 3, &s), t >= 100);
		if (t < 100)
			continue;
		assert_int_equal(s.first + s.n, n);
		assert_false(s.cut);
		assert_true(times[s.first] >= 100 * SECOND);
		assert_true(s.first == 0 || times[s.first - 1] < 100 * SECOND);
		for (size_t i = 0; i < s.n; i++)
			assert_int_equal(s.live_bytes[i] * SECOND, 3 * times[s.first + i]);
	}
	assert_int_equal(halvings, 19); /* after 120 samples, then after each 60 */
}

static void a_share_stays_with_the_pair_that_it_was_read_in(void **state)
{
	_cleanup_(series_free_p) struct series *series = new_series();
	struct series_process p;
	size_t shares = 0;

	(void)state;
	for (uint64_t t = 1; t <= SERIES_POINTS; t++) {
		struct record_sample_process record = {
			.image = { 1 },
			.pss_bytes = t % 10 == 0 || t % 10 == 5 ? t : 0,
		};

		begin(series, t);
		assert_int_equal(series_add_process(series, &record), 0);
		end(series, 0, 0);
	}
	assert_int_equal(series_halvings(series), 1);
	assert_true(series_of_process(series, (image_t){ 1 }, &p));
	for (size_t i = 0; i < p.n; i++)
		if (p.points[i].pss_bytes) {
			assert_in_range(p.points[i].pss_bytes, 2 * i + 1, 2 * i + 2);
			shares++;
		}
	assert_int_equal(shares, SERIES_POINTS / 5);
}

static void a_site_without_a_record_holds_nothing(void **state)
{
	_cleanup_(series_free_p) struct series *series = new_series();
	struct series_site s;

	(void)state;
	take(series, 1, 1);
	take(series, 2, 9);
	take(series, 3, 1);
	assert_true(series_of_site(series, (image_t){ 1 }, 2, 3, &s));
	assert_int_equal(s.n, 3);
	assert_int_equal(s.live_bytes[1], 0);
	assert_int_equal(s.live_bytes[2], 9);
	assert_false(series_of_site(series, (image_t){ 1 }, 2, 4, &s));
	assert_false(series_of_site(series, (image_t){ 2 }, 2, 3, &s));
}

static void a_site_that_is_left_out_holds_no_more_than_those_can(void **state)
{
	_cleanup_(series_free_p) struct series *series = new_series();
	struct series_site s;

	(void)state;
	begin(series, 1);
	process(series, 1, 0);
	site(series, 1, 3, 100);
	site(series, 1, 4, 30);
	end(series, 0, 0);
	begin(series, 2);
	process(series, 1, 0);
	end(series, 2, 50);
	assert_int_equal(series_left_out(series), 2);
	begin(series, 3);
	process(series, 1, 0);
	site(series, 1, 5, 60);
	end(series, 2, 50);
	assert_true(series_of_site(series, (image_t){ 1 }, 2, 3, &s));
	assert_int_equal(s.live_bytes[1], 50);
	assert_true(series_of_site(series, (image_t){ 1 }, 2, 4, &s));
	assert_int_equal(s.live_bytes[1], 30);
	assert_false(s.cut);
	assert_true(series_of_site(series, (image_t){ 1 }, 2, 5, &s));
	assert_true(s.cut); /* it may have been among those */
	assert_int_equal(s.first, 2);
}

static void what_has_ended_gets_no_more_values(void **state)
{
	_cleanup_(series_free_p) struct series *series = new_series();
	struct series_process p;
	struct series_site s;

	(void)state;
	for (uint64_t t = 1; t <= 4; t++) {
		begin(series, t);
		process(series, 1, 7);
		if (t <= 2) {
			process(series, 2, 8);
			site(series, 2, 3, 8);
		}
		end(series, 0, 0);
	}
	assert_true(series_of_process(series, (image_t){ 2 }, &p));
	assert_int_equal(p.n, 2);
	assert_true(series_of_site(series, (image_t){ 2 }, 2, 3, &s));
	assert_int_equal(s.n, 2);
	/* Nothing of it stays wrong when every second sample goes. */
	for (uint64_t t = 5; t <= SERIES_POINTS; t++)
		take(series, t, 1000);
	assert_true(series_of_process(series, (image_t){ 2 }, &p));
	assert_int_equal(p.first + p.n, 1);
	assert_true(series_of_site(series, (image_t){ 2 }, 2, 3, &s));
	assert_int_equal(s.first + s.n, 1);
}

static void processes_and_sites_have_a_limit(void **state)
{
	_cleanup_(series_free_p) struct series *series = new_series();
	struct series_process p;
	struct series_site s;

	(void)state;
	begin(series, 1);
	for (uint32_t i = 0; i < SERIES_PROCESSES + 5; i++)
		process(series, i, i);
	for (uint64_t i = 1; i <= SERIES_SITES; i++)
		site(series, 0, i, (int64_t)i);
	site(series, SERIES_PROCESSES + 1, 1, 1);
	end(series, 0, 0);
	assert_true(series_of_process(series, (image_t){ SERIES_PROCESSES - 1 }, &p));
	assert_false(series_of_process(series, (image_t){ SERIES_PROCESSES }, &p));
	assert_false(series_of_site(series, (image_t){ SERIES_PROCESSES + 1 }, 2, 1, &s));
	assert_true(series_of_site(series, (image_t){ 0 }, 2, 1, &s));
	begin(series, 2);
	process(series, 0, 0);
	site(series, 0, SERIES_SITES + 1, 1);
	end(series, 0, 0);
	assert_true(series_of_site(series, (image_t){ 0 }, 2, SERIES_SITES + 1, &s));
	assert_true(s.cut);
	assert_false(series_of_site(series, (image_t){ 0 }, 2, SERIES_SITES / 2, &s));
	assert_true(series_of_site(series, (image_t){ 0 }, 2, SERIES_SITES / 2 + 1, &s));
	assert_int_equal(s.n, 2);
}

static void who_is_forgotten_makes_room(void **state)
{
	struct series *series = new_series();
	const image_t gone[] = { { 0 }, { 7 }, { SERIES_PROCESSES + 9 } };
	struct series_process p;
	struct series_site s;

	(void)state;
	for (uint64_t second = 1; second <= 2; second++) {
		begin(series, second);
		for (uint32_t i = second == 1 ? 0 : 8; i < SERIES_PROCESSES + 5; i++)
			process(series, i, i);
		site(series, 7, 1, 1);
		site(series, 8, 1, 1);
		end(series, 0, 0);
		assert_int_equal(series_processes_left_out(series), second == 1 ? 5 : 3);
		assert_int_equal(series_forget(series, gone, 3), 0);
	}
	assert_false(series_of_process(series, (image_t){ 0 }, &p));
	assert_false(series_of_process(series, (image_t){ 7 }, &p));
	assert_false(series_of_site(series, (image_t){ 7 }, 2, 1, &s));
	assert_true(series_of_site(series, (image_t){ 8 }, 2, 1, &s));
	assert_true(series_of_process(series, (image_t){ 8 }, &p));
	assert_int_equal(p.n, 2);
	assert_true(series_of_process(series, (image_t){ SERIES_PROCESSES + 1 }, &p));
	assert_int_equal(p.first, 1);
	assert_int_equal(p.n, 1);
	assert_false(series_of_process(series, (image_t){ SERIES_PROCESSES + 2 }, &p));
	series_free(series);
}

/* They say themselves how many they are. */
static void who_has_no_record_is_left_out(void **state)
{
	struct series *series = new_series();
	struct record_sample_end record = { .n_processes_left_out = 3 };

	(void)state;
	begin(series, 1);
	process(series, 1, 1);
	assert_int_equal(series_end(series, &record), 0);
	assert_int_equal(series_processes_left_out(series), 3);
	begin(series, 2);
	process(series, 1, 1);
	end(series, 0, 0);
	assert_int_equal(series_processes_left_out(series), 0);
	series_free(series);
}

static void what_is_out_of_order_changes_nothing(void **state)
{
	_cleanup_(series_free_p) struct series *series = new_series();
	struct record_sample_process p = { .image = { 1 } };
	struct record_sample_site s = { .image = { 1 } };
	struct record_sample_end e = { 0 };
	size_t n;

	(void)state;
	assert_int_equal(series_add_process(series, &p), -EPROTO);
	assert_int_equal(series_add_site(series, &s), -EPROTO);
	assert_int_equal(series_end(series, &e), -EPROTO);
	take(series, 5, 0);
	take(series, 4, 0); /* time goes back */
	begin(series, 6);
	process(series, 1, 1);
	begin(series, 7); /* one without an end */
	end(series, 0, 0);
	series_times(series, &n);
	assert_int_equal(n, 2);
	take(series, 8, 0); /* image 1 was not in the one before */
	series_times(series, &n);
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_that_are_too_many_become_half_as_many),
		cmocka_unit_test(a_share_stays_with_the_pair_that_it_was_read_in),
		cmocka_unit_test(a_site_without_a_record_holds_nothing),
		cmocka_unit_test(a_site_that_is_left_out_holds_no_more_than_those_can),
		cmocka_unit_test(what_has_ended_gets_no_more_values),
		cmocka_unit_test(processes_and_sites_have_a_limit),
		cmocka_unit_test(who_is_forgotten_makes_room),
		cmocka_unit_test(who_has_no_record_is_left_out),
		cmocka_unit_test(what_is_out_of_order_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
