/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/job_counts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
	struct strings strings;
	struct event_counts events;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	event_counts_init(&f->events, &f->strings);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	event_counts_done(&f->events);
	strings_done(&f->strings);
	free(f);
	return 0;
}

static void announce(struct fixture *f, uint32_t id, const char *name)
{
	const struct record_event record = { .id = id, .name = name, .kernel = true };

	assert_int_equal(event_counts_add(&f->events, &record), 0);
}

/* A cut of these counts alone. */
static void cut(struct fixture *f, const struct record_event_count *counts, size_t n)
{
	event_counts_cut_begin(&f->events);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(event_counts_cut_count(&f->events, &counts[i]), 0);
	assert_int_equal(event_counts_cut_end(&f->events), 0);
}
#define CUT(f, ...)                                                                                \
	cut((f), (const struct record_event_count[]){ __VA_ARGS__ },                               \
	    sizeof((const struct record_event_count[]){ __VA_ARGS__ }) /                           \
		    sizeof(struct record_event_count))

static void an_event_is_found_by_its_place_and_by_its_id(void **state)
{
	struct fixture *f = *state;
	char name[] = "sched:sched_switch";

	announce(f, 9, name);
	announce(f, 4, "getrandom");
	name[0] = 'x';
	assert_int_equal(f->events.list.len, 2);
	assert_string_equal(f->events.list.data[0]->asked.name, "sched:sched_switch");
	assert_true(f->events.list.data[0]->asked.kernel);
	assert_ptr_equal(event_counts_find(&f->events, 4), f->events.list.data[1]);
	assert_null(event_counts_find(&f->events, 5));
	assert_int_equal(f->events.list.data[0]->counts.len, 0);
}

/* Each of the four that make a count's key, changed alone, makes another count. */
static void counts_are_told_apart_by_event_process_and_both_stacks(void **state)
{
	struct fixture *f = *state;
	const struct model_event *event;

	announce(f, 1, "read");
	announce(f, 2, "write");
	CUT(f, { 1, { 0 }, 71, 81, 10, 100, 200, 0, 0, 0, 0 },
	    { 1, { 5 }, 71, 81, 20, 100, 200, 0, 0, 0, 0 },
	    { 1, { 0 }, 72, 81, 30, 100, 200, 0, 0, 0, 0 },
	    { 1, { 0 }, 71, 82, 40, 100, 200, 0, 0, 0, 0 },
	    { 2, { 0 }, 71, 81, 50, 100, 200, 0, 0, 0, 0 });
	event = f->events.list.data[0];
	assert_int_equal(event->counts.len, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(event->counts.data[i].count, 10 * (i + 1));
	assert_int_equal(f->events.list.data[1]->counts.len, 1);
	assert_int_equal(f->events.list.data[1]->counts.data[0].count, 50);
}

static void a_cut_replaces_the_counts_that_it_names_and_no_others(void **state)
{
	struct fixture *f = *state;
	const struct model_event *event;

	announce(f, 1, "read");
	CUT(f, { 1, { 0 }, 71, 0, 10, 100, 200, 0, 0, 0, 0 },
	    { 1, { 0 }, 72, 0, 20, 110, 210, 0, 0, 0, 0 });
	CUT(f, { 1, { 0 }, 72, 0, 25, 110, 310, 0, 0, 0, 0 },
	    { 1, { 0 }, 73, 0, 1, 300, 300, 0, 0, 0, 0 });
	event = f->events.list.data[0];
	assert_int_equal(event->counts.len, 3);
	assert_int_equal(event->counts.data[0].count, 10);
	assert_int_equal(event->counts.data[1].count, 25);
	assert_int_equal(event->counts.data[1].first_ns, 110);
	assert_int_equal(event->counts.data[1].last_ns, 310);
	assert_int_equal(event->counts.data[2].stack, 73);
}

static void many_stacks_keep_their_own_counts(void **state)
{
	enum { STACKS = 5000 };
	struct fixture *f = *state;
	const struct model_event *event;

	announce(f, 1, "read");
	for (uint64_t round = 1; round <= 2; round++) {
		event_counts_cut_begin(&f->events);
		for (uint64_t i = 0; i < STACKS; i++)
			assert_int_equal(
				event_counts_cut_count(&f->events,
						       &(struct record_event_count){ 1,
										     { i % 7 },
										     i,
										     i / 7,
										     round * i,
										     1,
										     round,
										     0,
										     0,
										     0,
										     0 }),
				0);
		assert_int_equal(event_counts_cut_end(&f->events), 0);
	}
	event = f->events.list.data[0];
	assert_int_equal(event->counts.len, STACKS);
	for (uint64_t i = 0; i < STACKS; i++) {
		assert_int_equal(event->counts.data[i].stack, i);
		assert_int_equal(event->counts.data[i].count, 2 * i);
	}
}

static void a_cut_that_does_not_end_changes_nothing(void **state)
{
	struct fixture *f = *state;
	const struct record_event_count more = { 1, { 0 }, 71, 0, 99, 100, 900, 0, 0, 0, 0 };

	announce(f, 1, "read");
	CUT(f, { 1, { 0 }, 71, 0, 10, 100, 200, 0, 0, 0, 0 });
	event_counts_cut_begin(&f->events);
	assert_int_equal(event_counts_cut_count(&f->events, &more), 0);
	assert_int_equal(f->events.list.data[0]->counts.data[0].count, 10);
	event_counts_cut_begin(&f->events);
	assert_int_equal(event_counts_cut_end(&f->events), 0);
	assert_int_equal(f->events.list.data[0]->counts.data[0].count, 10);
}

static void unknown_and_repeated_ids_are_refused(void **state)
{
	struct fixture *f = *state;
	const struct record_event again = { .id = 1, .name = "again" };
	const struct record_event_count unknown = { .id = 2, .count = 1 };

	announce(f, 1, "read");
	assert_int_equal(event_counts_add(&f->events, &again), -EPROTO);
	event_counts_cut_begin(&f->events);
	assert_int_equal(event_counts_cut_count(&f->events, &unknown), -EPROTO);
	assert_int_equal(event_counts_cut_end(&f->events), 0);
	assert_int_equal(f->events.list.len, 1);
	assert_string_equal(f->events.list.data[0]->asked.name, "read");
	assert_int_equal(f->events.list.data[0]->counts.len, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_event_is_found_by_its_place_and_by_its_id),
		TEST(counts_are_told_apart_by_event_process_and_both_stacks),
		TEST(a_cut_replaces_the_counts_that_it_names_and_no_others),
		TEST(many_stacks_keep_their_own_counts),
		TEST(a_cut_that_does_not_end_changes_nothing),
		TEST(unknown_and_repeated_ids_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
