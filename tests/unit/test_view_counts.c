/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/demo/server"
#define PLUGIN "/opt/demo/plugin.so"
#define KERNEL 0xffffffff81000000ull

static void begin(const struct script *s)
{
	emit_run_with(s, true);
	emit_kernel(s, KERNEL, KERNEL + 0x1000000);
	emit_begin(s, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_event(s, 1, "getrandom");
}

/* Of the event of begin(), all at one time. */
static void emit_count(const struct script *s, uint32_t image, uint64_t stack,
		       uint64_t kernel_stack, uint64_t count)
{
	emit_event_count(s, (struct record_event_count){ .id = 1,
							 .image = { image },
							 .stack = stack,
							 .kernel_stack = kernel_stack,
							 .count = count,
							 .first_ns = 2000,
							 .last_ns = 2000 });
}

/* Frames of a stack, innermost first, as "function@object" or "offset@object". */
static const char *frames_of(const struct view_event_stack *stack)
{
	static char text[512];
	struct view_frames it = { .stack = &stack->stack };
	struct view_frame frame;

	text[0] = '\0';
	while (view_frames_next(&it, &frame)) {
		char offset[32];

		snprintf(offset, sizeof(offset), "%#lx", (unsigned long)frame.offset);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s@%s",
			 *text ? " " : "", frame.function ? frame.function : offset,
			 frame.place->object ? frame.place->object : "?");
	}
	return text;
}

static void the_kernels_frames_come_before_the_process_s(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_event *event;

	begin(s);
	emit_stack(s, 71, 0, 2000, 0x10123, 0x10456);
	emit_stack(s, 81, RECORD_NO_IMAGE.n, 2000, KERNEL + 0x10, KERNEL + 0x200);
	emit_cut(s, 9000);
	emit_event_count(
		s, (struct record_event_count){ 1, { 0 }, 71, 81, 7, 2000, 8000, 0, 0, 0, 0 });
	emit_cut_end(s);
	emit_kernel_symbol(s, KERNEL + 0x10, "get_random", 0x10);

	assert_int_equal(view_n_events(fixture_view(f, NULL)), 1);
	event = view_event(f->view, 0);
	assert_string_equal(event->asked->name, "getrandom");
	assert_int_equal(event->count, 7);
	assert_int_equal(event->n_stacks, 1);
	assert_int_equal(event->stacks[0].image->pid, 10);
	assert_int_equal(event->stacks[0].first_ns, 2000);
	assert_int_equal(event->stacks[0].last_ns, 8000);
	assert_false(event->stacks[0].stack.lost);
	assert_string_equal(frames_of(&event->stacks[0]),
			    "get_random@[kernel.kallsyms] 0xffffffff81000200@[kernel.kallsyms] "
			    "0x1123@/opt/demo/server 0x1456@/opt/demo/server");
}

static void stacks_of_the_same_code_at_other_addresses_are_one(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_event *event;

	begin(s);
	emit_map(s, 0, 0x40000, 0x41000, 0, 2000, PLUGIN, 13);
	emit_stack(s, 71, 0, 2100, 0x40123);
	emit_unmap(s, 0, 0x40000, 0x41000, 3000);
	emit_map(s, 0, 0x60000, 0x61000, 0, 4000, PLUGIN, 13);
	emit_stack(s, 72, 0, 4100, 0x60123);
	emit_cut(s, 9000);
	emit_event_count(
		s, (struct record_event_count){ 1, { 0 }, 71, 0, 10, 2100, 2500, 0, 0, 0, 0 });
	emit_event_count(s,
			 (struct record_event_count){ 1, { 0 }, 72, 0, 5, 4100, 8000, 0, 0, 0, 0 });
	emit_cut_end(s);

	event = view_event(fixture_view(f, NULL), 0);
	assert_int_equal(event->n_stacks, 1);
	assert_int_equal(event->stacks[0].count, 15);
	assert_int_equal(event->stacks[0].first_ns, 2100);
	assert_int_equal(event->stacks[0].last_ns, 8000);
}

static void a_view_of_one_image_has_its_stacks_and_those_before_its_exec(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	struct report_opts opts = { .width = 80, .one_image = true, .image = { 2 } };
	const struct view_event *event;

	begin(s);
	emit_begin(s, 1, 11, RECORD_NO_IMAGE.n, 0, 1500, "worker");
	emit_end(s, 1, RECORD_END_EXEC, 0, 1600);
	emit_begin(s, 2, 11, 1, 0, 1600, "worker");
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_cut(s, 9000);
	emit_count(s, 0, 71, 0, 1);
	emit_count(s, 1, 71, 0, 20);
	emit_count(s, 2, 71, 0, 300);
	emit_cut_end(s);

	event = view_event(fixture_view(f, &opts), 0);
	assert_int_equal(event->count, 320);
	assert_int_equal(event->n_stacks, 2);
	assert_int_equal(event->stacks[0].image->id.n, 2);
	assert_int_equal(event->stacks[1].image->id.n, 1);

	opts.alone = true;
	event = view_event(fixture_view(f, &opts), 0);
	assert_int_equal(event->count, 300);
	assert_int_equal(event->n_stacks, 1);
	assert_int_equal(event->stacks[0].image->id.n, 2);
}

static void a_process_whose_depth_changed_has_each_stack_once(void **state)
{
	static const enum record_end ends[] = { RECORD_END_DEPTH, RECORD_END_DEPTH,
						RECORD_END_EXEC };
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_event *event;

	begin(s);
	for (uint32_t image = 1; image <= 4; image++) {
		emit_begin(s, image, 11, image > 1 ? image - 1 : RECORD_NO_IMAGE.n, 0,
			   1000 + 100 * image, "worker");
		if (image <= 3)
			emit_end(s, image, ends[image - 1], 0, 1100 + 100 * image);
	}
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_cut(s, 9000);
	for (uint32_t image = 1; image <= 4; image++)
		emit_count(s, image, 71, 0, 1 + 10 * (image - 1));
	emit_cut_end(s);

	event = view_event(fixture_view(f, NULL), 0);
	assert_int_equal(event->count, 64);
	assert_int_equal(event->n_stacks, 2);
	assert_int_equal(event->stacks[0].count, 33);
	assert_int_equal(event->stacks[0].image->id.n, 3);
	assert_int_equal(event->stacks[1].count, 31);
	assert_int_equal(event->stacks[1].image->id.n, 4);
}

static void processes_and_kernel_stacks_are_not_merged(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_event *event;

	begin(s);
	emit_begin(s, 1, 11, 0, SCRIPT_INHERITS, 1500, "worker");
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_stack(s, 81, RECORD_NO_IMAGE.n, 2000, KERNEL + 0x10);
	emit_stack(s, 82, RECORD_NO_IMAGE.n, 2000, KERNEL + 0x20);
	emit_cut(s, 9000);
	emit_count(s, 0, 71, 0, 1);
	emit_count(s, 0, 71, 81, 2);
	emit_count(s, 0, 71, 82, 4);
	emit_count(s, 1, 71, 82, 3);
	emit_count(s, 1, 71, 81, 0);
	emit_cut_end(s);

	event = view_event(fixture_view(f, NULL), 0);
	assert_int_equal(event->count, 10);
	assert_int_equal(event->n_stacks, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(event->stacks[i].count, 4 - i);
	assert_string_equal(event->stacks[0].image->comm, "server");
	assert_string_equal(event->stacks[1].image->comm, "worker");
}

#define NO_CODE RECORD_STACK_NO_CODE

/* What is lost, of the process's frames and of the kernel's. */
static void lost_stacks_are_told_from_those_that_are_none(void **state)
{
	static const struct {
		uint32_t image;
		uint64_t stack, kernel_stack;
		size_t n_places;
		bool lost, kernel_lost;
	} cases[] = {
		{ 0, 71, 81, 2, false, false },	     { 0, 71, 0, 1, false, false },
		{ 0, 0, 81, 1, true, false },	     { 0, 0, 0, 0, true, false },
		{ 0, 99, 81, 1, true, false },	     { 0, 71, 99, 1, false, true },
		{ 2, NO_CODE, 81, 1, false, false }, { 2, NO_CODE, 0, 0, false, false },
		{ 2, NO_CODE, 99, 0, false, true },  { 7, 0, 0, 0, true, false },
	};
	size_t n = sizeof(cases) / sizeof(cases[0]);
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_event *event;

	begin(s);
	emit(s, &(struct record){ .type = RECORD_PROCESS,
				  .process = { .image = { 2 },
					       .pid = 42,
					       .parent_image = RECORD_NO_IMAGE,
					       .prev_image = RECORD_NO_IMAGE,
					       .comm = "kworker/0:1" } });
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_stack(s, 81, RECORD_NO_IMAGE.n, 2000, KERNEL + 0x10);
	emit_cut(s, 9000);
	for (size_t i = 0; i < n; i++)
		emit_count(s, cases[i].image, cases[i].stack, cases[i].kernel_stack, 1000 - i);
	emit_cut_end(s);

	event = view_event(fixture_view(f, NULL), 0);
	/* { 0, 0, 81 } and { 0, 99, 81 } are the same loss */
	assert_int_equal(event->n_stacks, n - 1);
	for (size_t i = 0, j = 0; i < n; i++) {
		const struct view_stack *stack;

		if (i == 4)
			continue;
		if (i == 2) {
			assert_int_equal(event->stacks[0].count, 1000 - 2 + 1000 - 4);
			stack = &event->stacks[0].stack;
		} else {
			assert_int_equal(event->stacks[++j].count, 1000 - i);
			stack = &event->stacks[j].stack;
		}
		assert_int_equal(stack->n_places, cases[i].n_places);
		assert_int_equal(stack->lost, cases[i].lost);
		assert_int_equal(stack->kernel_lost, cases[i].kernel_lost);
	}
	assert_false(event->stacks[n - 2].image->known);
	assert_string_equal(event->stacks[n - 2].image->comm, "");
}

static void groups_of_histograms_stand_by_count(void **state)
{
	static const struct record_bucket few[] = { { 1, 2, 3 } };
	static const struct record_bucket many[] = { { INT64_MIN, 0, 4 }, { 64, 128, 5 } };
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_histogram *h;

	begin(s);
	emit_histogram(s, (struct record_histogram){ 1, "read,by=comm", "bytes", "comm", 0, 0 });
	emit_histogram(s, (struct record_histogram){ 2, "write", "bytes", NULL, 0, 0 });
	emit_cut(s, 9000);
	emit_hist_counts(s, (struct record_hist_counts){ 1, "cat", 1, few, 0, NULL, 0, 0 });
	emit_hist_counts(s, (struct record_hist_counts){ 1, "dd", 2, many, 0, NULL, 0, 0 });
	emit_hist_counts(s, (struct record_hist_counts){ 1, "bc", 1, few, 0, NULL, 0, 0 });
	emit_cut_end(s);

	assert_int_equal(view_n_histograms(fixture_view(f, NULL)), 2);
	h = view_histogram(f->view, 0);
	assert_string_equal(h->asked->spec, "read,by=comm");
	assert_int_equal(h->n_groups, 3);
	assert_string_equal(h->groups[0].counts->key, "dd");
	assert_int_equal(h->groups[0].count, 9);
	assert_string_equal(h->groups[1].counts->key, "bc");
	assert_string_equal(h->groups[2].counts->key, "cat");
	assert_int_equal(h->groups[2].count, 3);
	assert_int_equal(view_histogram(f->view, 1)->n_groups, 0);
}

static void jobs_are_allocations_where_traced_then_the_events(void **state)
{
	static const struct {
		bool no_allocations;
		size_t job;
		bool expected;
		const char *event; /* NULL: allocations */
	} cases[] = {
		{ false, 0, true, NULL },  { false, 1, true, "one" }, { false, 2, true, "two" },
		{ false, 3, false, NULL }, { true, 0, true, "one" },  { true, 1, true, "two" },
		{ true, 2, false, NULL },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct report_opts opts = { .job = cases[i].job };
		const struct view_event *event;

		fixture_done(f);
		fixture_init(f);
		emit_run_with(&f->script, cases[i].no_allocations);
		emit_event(&f->script, 1, "one");
		emit_event(&f->script, 2, "two");
		assert_int_equal(view_job(fixture_view(f, &opts), &event), cases[i].expected);
		assert_int_equal(view_has_allocations(f->view), !cases[i].no_allocations);
		if (cases[i].event)
			assert_string_equal(event->asked->name, cases[i].event);
		else
			assert_null(event);
	}
}

/* Mappings of a process that runs and of one that has ended, and page faults of both. */
static void emit_both_jobs(const struct script *s)
{
	static const struct record run = { .type = RECORD_RUN, .run = { .no_heap = true } };

	emit(s, &run);
	emit_event(s, 1, "page-faults");
	for (uint32_t image = 0; image < 2; image++) {
		emit_begin(s, image, 10 + image, RECORD_NO_IMAGE.n, 0, 1000, "server");
		emit_stack(s, 71 + image, image, 2000, 0x10123);
		emit_region(s, image, 0x1000, 0x5000, 1, 71 + image, 2000);
	}
	emit_end(s, 1, RECORD_END_SIGNAL, 9, 4000);
	emit_cut(s, 9000);
	for (uint32_t image = 0; image < 2; image++)
		emit_count(s, image, 71 + image, 0, 5);
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
}

static void a_view_may_have_one_job_alone_and_what_is_held_now(void **state)
{
	/* Of which the events, and the sites of the process that runs and of the other one. */
	static const struct {
		struct report_opts opts;
		bool has_sites;
		size_t n_events, n_running, n_ended;
	} rows[] = {
		{ {}, true, 1, 1, 1 },
		{ { .job = 1 }, true, 1, 1, 1 },
		{ { .held_now = true }, true, 1, 1, 0 },
		{ { .only_job = true }, true, 0, 1, 1 },
		{ { .only_job = true, .held_now = true }, true, 0, 1, 0 },
		{ { .only_job = true, .job = 1 }, false, 1, 0, 0 },
		{ { .only_job = true, .job = 2 }, false, 0, 0, 0 },
	};
	struct fixture *f = *state;

	emit_both_jobs(&f->script);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct view *view = fixture_view(f, &rows[i].opts);
		const struct view_event *event = NULL;

		assert_int_equal(view_has_allocations(view), rows[i].has_sites);
		assert_int_equal(view_n_events(view), rows[i].n_events);
		assert_int_equal(view_n_processes(view), 2);
		assert_int_equal(view_process(view, 0)->n_sites, rows[i].n_running);
		assert_int_equal(view_process(view, 1)->n_sites, rows[i].n_ended);
		assert_int_equal(view_process(view, 1)->has_mmap, rows[i].n_ended);
		/* A job keeps its number. */
		assert_int_equal(view_job(view, &event), rows[i].opts.job < 2);
		assert_int_equal(event != NULL, rows[i].opts.job == 1);
		if (rows[i].n_events)
			assert_int_equal(view_event(view, 0)->count, 10);
		assert_int_equal(view_looked_at_ns(view, view_process(view, 0)), 8000);
		assert_int_equal(view_looked_at_ns(view, view_process(view, 1)), 3000);
	}
}

/* As of a process whose first 100 faults were seen each, and then one in 8. */
static void page_faults_count_for_what_their_samples_stand_for(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_event *event;
	const struct record_event fixed = { 2, "fixed", false, 0, false, 1000, 4096, false };
	const struct record_event adapts = { 3, "adapts", false, 0, false, 0, 4096, true };

	begin(s);
	emit(s, &(struct record){ .type = RECORD_EVENT, .event = fixed });
	emit(s, &(struct record){ .type = RECORD_EVENT, .event = adapts });
	emit_stack(s, 71, 0, 2000, 0x10123, 0x10456);
	emit_stack(s, 72, 0, 2000, 0x10223, 0x10456);
	emit_cut(s, 9000);
	/* An older recording has no weights. */
	emit_event_count(s,
			 (struct record_event_count){ 2, { 0 }, 71, 0, 4, 2000, 8000, 0, 0, 0, 0 });
	emit_event_count(
		s, (struct record_event_count){ 2, { 0 }, 72, 0, 3, 2000, 8000, 0, 3000, 0, 0 });
	emit_event_count(
		s, (struct record_event_count){ 3, { 0 }, 71, 0, 100, 2000, 8000, 0, 100, 0, 8 });
	emit_event_count(
		s, (struct record_event_count){ 3, { 0 }, 72, 0, 50, 2000, 8000, 0, 400, 2800, 8 });
	emit_cut_end(s);

	event = view_event(fixture_view(f, NULL), 1);
	assert_true(view_event_sampled(event));
	assert_int_equal(view_event_total(event), 7000);
	assert_int_equal(view_event_value(event, &event->stacks[0]), 4000);
	/* 1.96 sqrt(7) 1000, and some for there being few. */
	assert_in_range(view_event_ci95(event), 5180, 6000);

	event = view_event(f->view, 2);
	assert_int_equal(event->count, 150);
	assert_int_equal(view_event_total(event), 500);
	/* Not the stack with more samples comes first. */
	assert_int_equal(view_event_value(event, &event->stacks[0]), 400);
	assert_int_equal(view_event_stack_ci95(event, &event->stacks[1]), 0);
	assert_in_range(view_event_stack_ci95(event, &event->stacks[0]), 103, 108);
	assert_in_range(view_event_ci95(event), 103, 108);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_kernels_frames_come_before_the_process_s),
		TEST(stacks_of_the_same_code_at_other_addresses_are_one),
		TEST(a_view_may_have_one_job_alone_and_what_is_held_now),
		TEST(a_view_of_one_image_has_its_stacks_and_those_before_its_exec),
		TEST(a_process_whose_depth_changed_has_each_stack_once),
		TEST(processes_and_kernel_stacks_are_not_merged),
		TEST(lost_stacks_are_told_from_those_that_are_none),
		TEST(groups_of_histograms_stand_by_count),
		TEST(jobs_are_allocations_where_traced_then_the_events),
		TEST(page_faults_count_for_what_their_samples_stand_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
