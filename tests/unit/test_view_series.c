/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/report_fixture.h"

#define SECOND 1000000000ULL
#define MIB (1ULL << 20)

/* A process has so many MiB after so many seconds. */
static void emit_sample(const struct script *s, uint32_t slot, uint64_t second)
{
	emit(s, &(struct record){ .type = RECORD_SAMPLE, .sample = { second * SECOND } });
	emit(s, &(struct record){ .type = RECORD_SAMPLE_PROCESS,
				  .sample_process = { .image = { slot },
						      .rss_bytes = second * MIB,
						      .cgroup_bytes = second == 2 ? 0 : 7 * MIB,
						      .pss_bytes = second == 2 ? MIB : 0 } });
	emit(s, &(struct record){ .type = RECORD_SAMPLE_END });
}

static void emit_death(const struct script *s, uint64_t time_ns, bool has_memory)
{
	const struct record_death death = { .signal = 9,
					    .time_ns = time_ns,
					    .has_memory = has_memory,
					    .anon = 4 * MIB,
					    .file = 2 * MIB,
					    .shared = MIB,
					    .cgroup = "/pod",
					    .use = { 9 * MIB, 9 * MIB, UINT64_MAX } };

	emit(s, &(struct record){ .type = RECORD_DEATH, .death = death });
}

static void emit_server(const struct script *s, bool no_allocations)
{
	emit_run_with(s, no_allocations);
	emit_begin(s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 2000, "server");
	for (uint64_t second = 1; second <= 4; second++)
		emit_sample(s, 0, second);
}

static void emit_killed_at(const struct script *s, uint64_t time_ns, bool has_memory)
{
	emit_death(s, time_ns, has_memory);
	emit_end(s, 0, RECORD_END_SIGNAL, 9, time_ns + 2);
	emit_cut(s, 5 * SECOND);
	emit_cut_end(s);
}

static const struct view_timeline *timeline_of(struct fixture *f)
{
	const struct view *view = fixture_view(f, NULL);

	assert_int_equal(view_n_processes(view), 1);
	return &view_process(view, 0)->timeline;
}

static void without_allocations_there_is_what_is_resident_and_no_heap(void **state)
{
	struct fixture *f = *state;
	const struct view_timeline *timeline;

	emit_server(&f->script, true);
	emit_cut(&f->script, 5 * SECOND);
	emit_cut_end(&f->script);
	timeline = timeline_of(f);
	assert_false(timeline->has_heap);
	assert_int_equal(timeline->n, 4);
	assert_int_equal(timeline->n_samples, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(timeline->points[i].time_ns, (i + 1) * SECOND - 1000);
		assert_int_equal(timeline->points[i].rss_bytes, (i + 1) * MIB);
	}
	assert_true(timeline->points[0].cgroup_bytes == 7 * MIB);
	assert_true(timeline->points[1].cgroup_bytes == UINT64_MAX);
	assert_true(timeline->points[0].pss_bytes == UINT64_MAX);
	assert_true(timeline->points[1].pss_bytes == MIB);
	assert_true(timeline->peak_ns == UINT64_MAX);
	assert_false(view_process(f->view, 0)->has_growth);
}

/* Of a process that is about to end a sample shows what is left. */
static void the_last_point_is_what_it_had_when_it_was_killed(void **state)
{
	struct fixture *f = *state;
	const struct view_timeline *timeline;

	emit_server(&f->script, true);
	emit_killed_at(&f->script, 4 * SECOND - 1, true);
	timeline = timeline_of(f);
	assert_int_equal(timeline->n, 4);
	assert_int_equal(timeline->n_samples, 3);
	assert_int_equal(timeline->points[3].time_ns, 4 * SECOND - 1 - 1000);
	assert_int_equal(timeline->points[3].rss_bytes, 7 * MIB);
	assert_int_equal(timeline->points[3].cgroup_bytes, 9 * MIB);
	assert_true(timeline->points[3].pss_bytes == UINT64_MAX);
}

static void a_death_of_which_no_memory_is_known_adds_nothing(void **state)
{
	struct fixture *f = *state;
	const struct view_timeline *timeline;

	emit_server(&f->script, true);
	emit_killed_at(&f->script, 4 * SECOND - 1, false);
	timeline = timeline_of(f);
	assert_int_equal(timeline->n, 4);
	assert_int_equal(timeline->points[3].rss_bytes, 4 * MIB);
}

/* It was in no cut: of its heap the samples alone would be wrong, where it inherited some. */
static void with_allocations_and_no_totals_there_is_none(void **state)
{
	struct fixture *f = *state;

	emit_server(&f->script, false);
	emit_cut(&f->script, 5 * SECOND);
	emit_cut_end(&f->script);
	assert_int_equal(timeline_of(f)->n, 0);
}

static void the_most_that_was_resident_is_the_mark_or_a_sample(void **state)
{
	static const struct {
		uint64_t mark, shown;
		bool is_least, exact;
	} cases[] = {
		{ 9 * MIB, 9 * MIB, false, true },
		{ 9 * MIB, 9 * MIB, true, false },
		{ 0, 4 * MIB, false, false },
		/* Samples have what CPUs have not added to the mark. */
		{ 3 * MIB, 4 * MIB, false, true },
	};
	struct fixture *f = *state;

	emit_server(&f->script, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct view_timeline *timeline;

		emit_cut(&f->script, 5 * SECOND + i);
		emit_totals(&f->script,
			    (struct record_totals){ .peak_rss_bytes = cases[i].mark,
						    .peak_rss_is_least = cases[i].is_least });
		emit_cut_end(&f->script);
		timeline = timeline_of(f);
		assert_int_equal(timeline->peak_rss_bytes, cases[i].shown);
		assert_int_equal(timeline->peak_rss_exact, cases[i].exact);
	}
}

static void of_growth_depth_the_heap_is_not_known_beside_others(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;

	emit_run(s);
	emit(s, &(struct record){ .type = RECORD_PROCESS,
				  .process = { .pid = 4242,
					       .parent_image = RECORD_NO_IMAGE,
					       .prev_image = RECORD_NO_IMAGE,
					       .root = true,
					       .depth = RECORD_DEPTH_GROWTH,
					       .comm = "server" } });
	emit_sample(s, 0, 1);
	emit_cut(s, 5 * SECOND);
	emit_cut_end(s);
	assert_int_equal(timeline_of(f)->n, 1);
	assert_false(timeline_of(f)->has_heap);
}

static int points_of_others(const struct model_process *image, void *userdata,
			    struct view_point **ret_points, size_t *ret_n)
{
	struct view_point *points = calloc(5, sizeof(*points));

	assert_non_null(points);
	assert_int_equal(image->pid, 4242);
	++*(int *)userdata;
	for (size_t i = 0; i < 5; i++) {
		points[i].time_ns = 500 + i * SECOND;
		points[i].rss_bytes = i * MIB;
		points[i].cgroup_bytes = UINT64_MAX;
		points[i].pss_bytes = i == 2 ? MIB : UINT64_MAX;
	}
	*ret_points = points;
	*ret_n = 5;
	return 0;
}

static void emit_killed(const struct script *s)
{
	emit_run_with(s, true);
	emit_begin(s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 2000, "server");
	emit_killed_at(s, 3 * SECOND, true);
}

/* Of before the run, and of after the death, nothing is shown. */
static void who_looked_where_the_run_did_not_has_the_points(void **state)
{
	struct fixture *f = *state;
	int asked = 0;
	const struct report_usage usage = { points_of_others, &asked };
	const struct report_opts opts = { .usage = &usage };
	const struct view_timeline *timeline;

	emit_killed(&f->script);
	timeline = &view_process(fixture_view(f, &opts), 0)->timeline;
	assert_int_equal(asked, 1);
	assert_int_equal(timeline->n, 3);
	assert_int_equal(timeline->points[0].time_ns, SECOND - 500);
	assert_int_equal(timeline->points[1].rss_bytes, 2 * MIB);
	assert_int_equal(timeline->points[1].pss_bytes, MIB);
	assert_int_equal(timeline->points[2].rss_bytes, 7 * MIB);
	assert_int_equal(timeline->points[2].time_ns, 3 * SECOND - 1000);
	assert_false(timeline->has_heap);
}

static void where_the_run_looked_itself_nobody_is_asked(void **state)
{
	struct fixture *f = *state;
	int asked = 0;
	const struct report_usage usage = { points_of_others, &asked };
	const struct report_opts opts = { .usage = &usage };

	emit_server(&f->script, true);
	emit_cut(&f->script, 5 * SECOND);
	emit_cut_end(&f->script);
	assert_int_equal(view_process(fixture_view(f, &opts), 0)->timeline.n, 4);
	assert_int_equal(asked, 0);
}

static void a_death_alone_is_a_point(void **state)
{
	struct fixture *f = *state;
	const struct view_timeline *timeline;

	emit_killed(&f->script);
	timeline = timeline_of(f);
	assert_int_equal(timeline->n, 1);
	assert_int_equal(timeline->n_samples, 0);
	assert_int_equal(timeline->points[0].rss_bytes, 7 * MIB);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_allocations_there_is_what_is_resident_and_no_heap),
		TEST(the_last_point_is_what_it_had_when_it_was_killed),
		TEST(a_death_of_which_no_memory_is_known_adds_nothing),
		TEST(who_looked_where_the_run_did_not_has_the_points),
		TEST(where_the_run_looked_itself_nobody_is_asked),
		TEST(a_death_alone_is_a_point),
		TEST(with_allocations_and_no_totals_there_is_none),
		TEST(the_most_that_was_resident_is_the_mark_or_a_sample),
		TEST(of_growth_depth_the_heap_is_not_known_beside_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
