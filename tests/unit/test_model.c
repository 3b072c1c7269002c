/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/mappings.h"
#include "model/model.h"
#include "model/regions.h"
#include "tests/record_script.h"

#include <errno.h>
#include <string.h>

struct fixture {
	struct model *model;
	struct script script;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || model_new(&f->model) < 0)
		return -1;
	f->script = (struct script){ model_apply, f->model };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	model_free(f->model);
	free(f);
	return 0;
}

/* The path and offset at an address and time: "lib+0x10", "-" where nothing is mapped. */
static const char *where(const struct model *model, uint32_t image, uint64_t addr, uint64_t time_ns)
{
	static char text[128];
	struct model_place place;

	if (!model_resolve(model, (image_t){ image }, addr, time_ns, &place))
		return "-";
	snprintf(text, sizeof(text), "%s+0x%lx", place.object->path, (long)place.file_offset);
	return text;
}

static void mapping_holds_from_its_start_to_before_its_end(void **state)
{
	struct fixture *f = *state;
	static const struct {
		uint64_t addr, time_ns;
		const char *expected;
	} cases[] = {
		{ 0x1000, 99, "-" },
		{ 0x1000, 100, "/lib/a+0x5000" },
		{ 0x1000, 199, "/lib/a+0x5000" },
		{ 0x1000, 200, "-" },
		{ 0x1fff, 150, "/lib/a+0x5fff" },
		{ 0x2000, 150, "-" },
		{ 0xfff, 150, "-" },
	};

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_map(&f->script, 0, 0x1000, 0x2000, 0x5000, 100, "/lib/a", 1);
	emit_unmap(&f->script, 0, 0x1000, 0x2000, 200);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(where(f->model, 0, cases[i].addr, cases[i].time_ns),
				    cases[i].expected);
}

static void reused_address_belongs_to_who_was_mapped_then(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_map(&f->script, 0, 0x1000, 0x3000, 0, 100, "/lib/a", 1);
	emit_unmap(&f->script, 0, 0x1000, 0x3000, 200);
	emit_map(&f->script, 0, 0x1000, 0x2000, 0, 300, "/lib/b", 2);
	/* MAP_FIXED over the middle of it, without an unmapping. */
	emit_map(&f->script, 0, 0x1400, 0x1800, 0x9000, 400, "/lib/c", 3);

	assert_string_equal(where(f->model, 0, 0x1500, 150), "/lib/a+0x500");
	assert_string_equal(where(f->model, 0, 0x1500, 250), "-");
	assert_string_equal(where(f->model, 0, 0x1500, 350), "/lib/b+0x500");
	assert_string_equal(where(f->model, 0, 0x1500, 450), "/lib/c+0x9100");
	assert_string_equal(where(f->model, 0, 0x1900, 450), "/lib/b+0x900");
	assert_string_equal(where(f->model, 0, 0x1900, 150), "/lib/a+0x900");
	assert_string_equal(where(f->model, 0, 0x2800, 150), "/lib/a+0x1800");
	assert_string_equal(where(f->model, 0, 0x2800, 350), "-");
}

static void library_loaded_many_times_is_found_at_each_time(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	for (uint64_t i = 0; i < 2000; i++) {
		emit_map(&f->script, 0, 0x1000, 0x2000, i * 0x1000, 10 * i, "/lib/a", 1);
		emit_unmap(&f->script, 0, 0x1000, 0x2000, 10 * i + 5);
	}
	assert_string_equal(where(f->model, 0, 0x1001, 4), "/lib/a+0x1");
	assert_string_equal(where(f->model, 0, 0x1001, 5), "-");
	assert_string_equal(where(f->model, 0, 0x1001, 10004), "/lib/a+0x3e8001");
	assert_string_equal(where(f->model, 0, 0x1001, 19994), "/lib/a+0x7cf001");
	assert_string_equal(where(f->model, 0, 0x1001, 19995), "-");
}

static void mapping_reported_again_holds_from_the_earlier_time(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_map(&f->script, 0, 0x1000, 0x2000, 0, 100, "/lib/a", 1);
	emit_map(&f->script, 0, 0x1000, 0x2000, 0, 300, "/lib/a", 1);
	assert_string_equal(where(f->model, 0, 0x1000, 150), "/lib/a+0x0");
	emit_map(&f->script, 0, 0x1000, 0x2000, 0, 50, "/lib/a", 1);
	assert_string_equal(where(f->model, 0, 0x1000, 60), "/lib/a+0x0");
}

static void data_mapped_over_code_hides_it(void **state)
{
	struct fixture *f = *state;
	struct record data = {
		.type = RECORD_MAPPING,
		.mapping = { .image = { 0 },
			     .start = 0x1800,
			     .end = 0x2000,
			     .time_ns = 200,
			     .path = "/lib/a" },
	};

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_map(&f->script, 0, 0x1000, 0x2000, 0, 100, "/lib/a", 1);
	emit(&f->script, &data);
	assert_string_equal(where(f->model, 0, 0x17ff, 200), "/lib/a+0x7ff");
	assert_string_equal(where(f->model, 0, 0x1800, 200), "-");
	assert_string_equal(where(f->model, 0, 0x1800, 199), "/lib/a+0x800");
}

static void forked_child_sees_what_its_parent_had_at_the_fork(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_map(&f->script, 0, 0x1000, 0x2000, 0, 100, "/lib/a", 1);
	emit_map(&f->script, 0, 0x3000, 0x4000, 0, 100, "/lib/b", 2);
	emit_begin(&f->script, 1, 11, 0, SCRIPT_INHERITS, 200, "p");
	emit_begin(&f->script, 2, 12, 1, SCRIPT_INHERITS, 300, "p");
	/* Later changes of the parent are its own. */
	emit_unmap(&f->script, 0, 0x1000, 0x2000, 400);
	emit_map(&f->script, 0, 0x5000, 0x6000, 0, 400, "/lib/c", 3);
	/* And those of the child. */
	emit_unmap(&f->script, 1, 0x3000, 0x3800, 500);
	emit_map(&f->script, 1, 0x3000, 0x3400, 0, 600, "/lib/d", 4);

	assert_string_equal(where(f->model, 1, 0x1000, 900), "/lib/a+0x0");
	assert_string_equal(where(f->model, 2, 0x1000, 900), "/lib/a+0x0");
	assert_string_equal(where(f->model, 1, 0x5000, 900), "-");
	assert_string_equal(where(f->model, 1, 0x3000, 499), "/lib/b+0x0");
	assert_string_equal(where(f->model, 1, 0x3000, 550), "-");
	assert_string_equal(where(f->model, 1, 0x3000, 600), "/lib/d+0x0");
	assert_string_equal(where(f->model, 1, 0x3600, 600), "-");
	assert_string_equal(where(f->model, 1, 0x3900, 600), "/lib/b+0x900");
	assert_string_equal(where(f->model, 2, 0x3000, 900), "/lib/b+0x0");
	assert_string_equal(where(f->model, 0, 0x3000, 900), "/lib/b+0x0");
}

static void new_image_inherits_nothing(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 0, "sh");
	emit_map(&f->script, 0, 0x1000, 0x2000, 0, 100, "/lib/a", 1);
	emit_end(&f->script, 0, RECORD_END_EXEC, 0, 200);
	emit_begin(&f->script, 1, 10, 0, SCRIPT_ROOT, 200, "server");
	assert_string_equal(where(f->model, 1, 0x1000, 300), "-");
	assert_int_equal(model_find_process(f->model, (image_t){ 0 })->next_id.n, 1);
	assert_int_equal(model_find_process(f->model, (image_t){ 1 })->prev_id.n, 0);
	assert_true(model_find_process(f->model, (image_t){ 0 })->ended);
	assert_false(model_find_process(f->model, (image_t){ 1 })->ended);
}

static void name_is_the_latest(void **state)
{
	struct fixture *f = *state;
	struct record renamed = { .type = RECORD_NAME, .name = { { 0 }, "worker 1" } };

	emit(&f->script, &renamed);
	assert_null(model_find_process(f->model, (image_t){ 0 }));
	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 0, "server");
	emit(&f->script, &renamed);
	assert_string_equal(model_find_process(f->model, (image_t){ 0 })->comm, "worker 1");
	renamed.name.comm = "";
	emit(&f->script, &renamed);
	assert_string_equal(model_find_process(f->model, (image_t){ 0 })->comm, "");
}

static void exec_links_that_would_make_a_circle_are_dropped(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, 1, 0, 0, "a");
	emit_begin(&f->script, 1, 10, 0, 0, 0, "b");
	emit_begin(&f->script, 2, 10, 2, 0, 0, "c");
	/* A second successor of the same image. */
	emit_begin(&f->script, 3, 10, 0, 0, 0, "d");
	assert_true(image_is_none(model_find_process(f->model, (image_t){ 0 })->prev_id));
	assert_int_equal(model_find_process(f->model, (image_t){ 0 })->next_id.n, 1);
	assert_int_equal(model_find_process(f->model, (image_t){ 1 })->prev_id.n, 0);
	assert_true(image_is_none(model_find_process(f->model, (image_t){ 2 })->prev_id));
	assert_true(image_is_none(model_find_process(f->model, (image_t){ 3 })->prev_id));
}

static void fork_circle_ends_the_lookup(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, 1, SCRIPT_INHERITS, 0, "a");
	emit_begin(&f->script, 1, 11, 0, SCRIPT_INHERITS, 0, "b");
	assert_string_equal(where(f->model, 0, 0x1000, 10), "-");
	assert_string_equal(where(f->model, 1, 0x1000, 10), "-");
}

static void probed_function_is_located_by_its_mapping(void **state)
{
	struct fixture *f = *state;
	const struct record_function *function;
	struct model_place place;
	uint64_t addr;

	emit_function(&f->script, 3, "malloc", "/lib/c", 0x1500);
	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_map(&f->script, 0, 0x7000, 0x9000, 0x1000, 100, "/lib/c", 1);
	emit_begin(&f->script, 1, 11, 0, SCRIPT_INHERITS, 200, "p");
	emit_unmap(&f->script, 1, 0x7000, 0x9000, 300);

	assert_null(model_function(f->model, 2));
	assert_null(model_function(f->model, 4));
	function = model_function(f->model, 3);
	assert_non_null(function);
	assert_true(model_locate(f->model, (image_t){ 0 }, function, 100, &addr, &place));
	assert_int_equal(addr, 0x7500);
	assert_int_equal(place.file_offset, 0x1500);
	assert_false(model_locate(f->model, (image_t){ 0 }, function, 99, &addr, &place));
	assert_true(model_locate(f->model, (image_t){ 1 }, function, 250, &addr, &place));
	assert_false(model_locate(f->model, (image_t){ 1 }, function, 300, &addr, &place));
}

static void lowest_mapping_of_the_executable_is_found_in_ancestors_too(void **state)
{
	struct fixture *f = *state;
	const struct mapping *m;

	assert_null(model_exe_mapping(f->model, (image_t){ 0 }));
	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	assert_null(model_exe_mapping(f->model, (image_t){ 0 }));
	emit_map(&f->script, 0, 0x3000, 0x4000, 0x1000, 100, "/lib/c", 1);
	emit_map(&f->script, 0, 0x9000, 0xa000, 0x3000, 100, "/opt/demo/server", 2);
	emit_map(&f->script, 0, 0x7000, 0x8000, 0x1000, 100, "/opt/demo/server", 2);
	emit_begin(&f->script, 1, 11, 0, SCRIPT_INHERITS, 200, "p");
	emit_begin(&f->script, 2, 10, 0, 0, 300, "p");
	m = model_exe_mapping(f->model, (image_t){ 0 });
	assert_non_null(m);
	assert_int_equal(m->start, 0x7000);
	assert_int_equal(m->file_offset, 0x1000);
	assert_ptr_equal(model_exe_mapping(f->model, (image_t){ 1 }), m);
	assert_null(model_exe_mapping(f->model, (image_t){ 2 }));
	emit_unmap(&f->script, 0, 0x7000, 0xa000, 400);
	m = model_exe_mapping(f->model, (image_t){ 0 });
	assert_non_null(m);
	assert_int_equal(m->start, 0x7000);
}

static struct record_site site(uint32_t image, uint64_t stack, int64_t live)
{
	return (struct record_site){
		.image = { image }, .fn = 1, .stack = stack, .live_bytes = live
	};
}

static void simple_cut(const struct script *s, uint64_t time_ns, uint64_t stack, int64_t live)
{
	emit_cut(s, time_ns);
	emit_totals(s, (struct record_totals){ .image = { 0 }, .live_bytes = live });
	emit_site(s, site(0, stack, live));
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
}

static void cut_replaces_the_one_before_as_a_whole(void **state)
{
	struct fixture *f = *state;
	const struct model_process *p;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	assert_false(model_find_process(f->model, (image_t){ 0 })->has_totals);
	simple_cut(&f->script, 100, 7, 64);
	simple_cut(&f->script, 200, 8, 32);
	p = model_find_process(f->model, (image_t){ 0 });
	assert_true(p->has_totals);
	assert_int_equal(p->totals.live_bytes, 32);
	assert_int_equal(p->n_sites, 1);
	assert_int_equal(p->sites[0].values.stack, 8);
	assert_int_equal(model_now_ns(f->model), 200);
	assert_true(model_coverage(f->model)->at_cut->exact);
}

static void unfinished_cut_changes_nothing(void **state)
{
	struct fixture *f = *state;
	const struct model_process *p;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	simple_cut(&f->script, 100, 7, 64);
	emit_cut(&f->script, 200);
	emit_totals(&f->script, (struct record_totals){ .image = { 0 }, .live_bytes = 1 });
	emit_site(&f->script, site(0, 8, 1));
	emit_coverage(&f->script, false, 11, NULL, 0);

	p = model_find_process(f->model, (image_t){ 0 });
	assert_int_equal(p->totals.live_bytes, 64);
	assert_int_equal(p->sites[0].values.stack, 7);
	assert_int_equal(model_now_ns(f->model), 100);
	assert_true(model_coverage(f->model)->at_cut->exact);

	/* The next one does not see what the unfinished one said. */
	emit_cut(&f->script, 250);
	emit_cut_end(&f->script);
	assert_true(model_coverage(f->model)->at_cut->exact);
	simple_cut(&f->script, 300, 9, 16);
	p = model_find_process(f->model, (image_t){ 0 });
	assert_int_equal(p->n_sites, 1);
	assert_int_equal(p->sites[0].values.stack, 9);
}

static void ended_process_keeps_its_last_values(void **state)
{
	struct fixture *f = *state;
	const struct model_process *p;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	simple_cut(&f->script, 100, 7, 64);
	emit_end(&f->script, 0, RECORD_END_SIGNAL, 9, 150);
	emit_cut(&f->script, 200);
	emit_coverage(&f->script, true, 10, NULL, 0);
	emit_cut_end(&f->script);

	p = model_find_process(f->model, (image_t){ 0 });
	assert_int_equal(p->totals.live_bytes, 64);
	assert_int_equal(p->sites[0].values.live_bytes, 64);
	assert_int_equal(p->sites[0].growth_bytes, 0);
	assert_int_equal(p->how, RECORD_END_SIGNAL);
	assert_int_equal(p->end_value, 9);
}

static void growth_is_counted_from_cut_to_cut(void **state)
{
	struct fixture *f = *state;
	const struct model_process *p;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_region(&f->script, 0, 0x1000, 0x5000, 2, 9, 50);
	emit_cut(&f->script, 100);
	emit_site(&f->script, site(0, 30, 300));
	emit_site(&f->script, site(0, 10, 100));
	emit_cut_end(&f->script);
	emit_region_gone(&f->script, 0, 0x1000, 0x2000, 150);
	emit_cut(&f->script, 200);
	emit_site(&f->script, site(0, 10, 90));
	emit_site(&f->script, site(0, 20, 200));
	emit_site(&f->script, site(0, 30, 350));
	emit_cut_end(&f->script);

	p = model_find_process(f->model, (image_t){ 0 });
	assert_int_equal(p->n_sites, 3);
	for (size_t i = 0; i < p->n_sites; i++) {
		static const int64_t expected[] = { -10, 200, 50 };
		uint64_t stack = p->sites[i].values.stack;

		assert_int_equal(p->sites[i].growth_bytes, expected[stack / 10 - 1]);
	}
	struct region_site *regions;
	size_t n;

	assert_int_equal(regions_sites(p->regions, 0, &regions, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(regions[0].growth_bytes, -0x1000);
	free(regions);
}

static void record_that_belongs_in_a_cut_is_refused_outside(void **state)
{
	struct fixture *f = *state;
	static const enum record_type types[] = { RECORD_TOTALS, RECORD_SITE, RECORD_COVERAGE,
						  RECORD_CUT_END };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct record record = { .type = types[i] };

		assert_int_equal(model_apply(&record, f->model), -EPROTO);
	}
	assert_int_equal(model_apply(&(struct record){ .type = 99 }, f->model), -EPROTO);
}

/* Processes 0 (which runs on) and those from `first` on, which end; each holds 10 bytes more. */
static void storm(const struct script *s, uint32_t first, uint32_t n, unsigned int flags)
{
	for (uint32_t image = first; image < first + n; image++) {
		emit_begin(s, image, 100 + image, flags ? 0 : RECORD_NO_IMAGE.n, flags, image, "p");
		emit_stack(s, 1000 + image, image, image, 0x1, 0x2);
		emit_end(s, image, RECORD_END_EXIT, 0, image);
	}
	emit_cut(s, first);
	for (uint32_t image = first; image < first + n; image++) {
		emit_totals(s, (struct record_totals){ .image = { image },
						       .allocs = 2,
						       .peak_bytes = image,
						       .lost = 1 });
		emit_site(s, site(image, 1000 + image, 10));
	}
	emit_coverage(s, false, 10, NULL, 0);
	emit_cut_end(s);
}

static void ended_processes_beyond_a_number_are_folded(void **state)
{
	struct fixture *f = *state;
	const struct model_ended *ended;

	model_keep_ended(f->model, 10);
	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	storm(&f->script, 1, 11, 0);
	/* One more than are kept is not worth looking through all stacks. */
	assert_int_equal(model_n_processes(f->model), 12);
	storm(&f->script, 12, 20, 0);
	assert_int_equal(model_n_processes(f->model), 11);
	assert_non_null(model_find_process(f->model, (image_t){ 0 }));
	assert_null(model_find_process(f->model, (image_t){ 21 }));
	assert_non_null(model_find_process(f->model, (image_t){ 22 }));
	assert_null(model_stack(f->model, 1021, (image_t){ 21 }));
	assert_non_null(model_stack(f->model, 1022, (image_t){ 22 }));
	assert_int_equal(model_ended(f->model)->list.len, 1);
	ended = &model_ended(f->model)->list.data[0];
	assert_string_equal(ended->exe, "/opt/demo/server");
	assert_int_equal(ended->processes, 21);
	assert_int_equal(ended->totals.allocs, 42);
	assert_int_equal(ended->totals.peak_bytes, 21);
	assert_int_equal(ended->totals.lost, 21);
}

static void whom_others_have_inherited_from_is_not_folded(void **state)
{
	struct fixture *f = *state;

	model_keep_ended(f->model, 0);
	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_begin(&f->script, 1, 11, 0, SCRIPT_INHERITS, 5, "child");
	emit_end(&f->script, 0, RECORD_END_EXIT, 0, 6);
	simple_cut(&f->script, 100, 7, 64);
	assert_int_equal(model_n_processes(f->model), 2);
	/* Its children that end are folded with what they run, which is its executable. */
	storm(&f->script, 2, 20, SCRIPT_INHERITS);
	assert_int_equal(model_n_processes(f->model), 2);
	assert_int_equal(model_ended(f->model)->list.data[0].processes, 20);
	emit_end(&f->script, 1, RECORD_END_EXIT, 0, 200);
	emit_cut(&f->script, 300);
	emit_totals(&f->script, (struct record_totals){ .image = { 1 } });
	emit_coverage(&f->script, false, 10, NULL, 0);
	emit_cut_end(&f->script);
	assert_int_equal(model_n_processes(f->model), 0);
	assert_int_equal(model_ended(f->model)->list.data[0].processes, 22);
}

/* What is sampled of a process that runs, and of `n` that end, in as many cuts as they need. */
static void sampled_storm(const struct script *s, uint32_t first, uint32_t n)
{
	for (uint32_t image = first; image < first + n; image++) {
		emit_begin(s, image, 100 + image, RECORD_NO_IMAGE.n, 0, image, "p");
		emit_stack(s, 1000 + image, image, image, 0x1, 0x2);
		emit_end(s, image, RECORD_END_EXIT, 0, image);
	}
	for (uint64_t cut = 0; cut < 2; cut++) {
		emit_cut(s, 1000 + first + cut);
		emit_event_count(s, (struct record_event_count){
					    1, { 0 }, 1000, 0, first, 1, 2, 0, 0, 0, 0 });
		for (uint32_t image = first; image < first + n; image++)
			emit_event_count(
				s, (struct record_event_count){
					   1, { image }, 1000 + image, 0, 1, 1, 2, 0, 0, 0, 0 });
		emit_coverage(s, false, 10, NULL, 0);
		emit_cut_end(s);
	}
}

static void counts_of_who_is_folded_go_where_that_is_asked_for(void **state)
{
	struct fixture *f = *state;
	const struct model_event *event;

	model_keep_ended(f->model, 10);
	model_forget_counts(f->model);
	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "server");
	emit_stack(&f->script, 1000, 0, 1, 0x1);
	emit_event(&f->script, 1, "page-faults");
	for (uint32_t first = 1; first <= 2001; first += 100)
		sampled_storm(&f->script, first, 100);
	event = model_events(f->model)->list.data[0];
	assert_int_equal(model_n_processes(f->model), 11);
	assert_int_equal(event->counts.len, 11);
	assert_int_equal(event->counts.data[0].image.n, 0);
	assert_int_equal(event->counts.data[0].count, 2001);
	for (size_t i = 1; i < 11; i++) {
		assert_int_equal(event->counts.data[i].image.n, 2090 + i);
		assert_int_equal(event->counts.data[i].stack, 3090 + i);
	}
	assert_non_null(model_stack(f->model, 1000, (image_t){ 0 }));
	assert_null(model_stack(f->model, 3090, (image_t){ 2090 }));
	assert_int_equal(model_ended(f->model)->list.data[0].processes, 2090);
}

static void who_has_ended_has_counts_for_two_cuts_and_events_keep_all_of_a_command(void **state)
{
	struct fixture *f = *state;

	model_keep_ended(f->model, 0);
	emit_event(&f->script, 1, "page-faults");
	sampled_storm(&f->script, 1, 30);
	assert_int_equal(model_n_processes(f->model), 30);
	model_forget_counts(f->model);
	emit_cut(&f->script, 5000);
	emit_cut_end(&f->script);
	assert_int_equal(model_n_processes(f->model), 30);
	emit_cut(&f->script, 6000);
	emit_cut_end(&f->script);
	assert_int_equal(model_n_processes(f->model), 0);
	/* nobody had told of image 0: it has not ended */
	assert_int_equal(model_events(f->model)->list.data[0]->counts.len, 1);
}

static void nothing_is_folded_unless_that_is_asked_for(void **state)
{
	struct fixture *f = *state;

	storm(&f->script, 1, 300, 0);
	assert_int_equal(model_n_processes(f->model), 300);
	assert_int_equal(model_ended(f->model)->list.len, 0);
}

static void process_whose_beginning_was_lost_still_counts(void **state)
{
	struct fixture *f = *state;
	const struct model_process *p;

	simple_cut(&f->script, 100, 7, 64);
	p = model_find_process(f->model, (image_t){ 0 });
	assert_non_null(p);
	assert_false(p->known);
	assert_int_equal(p->totals.live_bytes, 64);
	/* Its record may come late. */
	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	assert_true(p->known);
	assert_int_equal(p->pid, 10);
	assert_int_equal(model_n_processes(f->model), 1);
}

static void same_addresses_in_two_processes_are_two_stacks(void **state)
{
	struct fixture *f = *state;

	emit_stack(&f->script, 77, 0, 100, 0x1, 0x2);
	emit_stack(&f->script, 77, 1, 200, 0x1, 0x2);
	emit_stack(&f->script, 77, 1, 300, 0x1, 0x2);
	assert_int_equal(model_stack(f->model, 77, (image_t){ 0 })->time_ns, 100);
	assert_int_equal(model_stack(f->model, 77, (image_t){ 1 })->time_ns, 200);
	assert_int_equal(model_stack(f->model, 77, (image_t){ 5 })->time_ns, 100);
	assert_int_equal(model_stack(f->model, 77, (image_t){ 1 })->n_frames, 2);
	assert_int_equal(model_stack_frame(model_stack(f->model, 77, (image_t){ 1 }), 1), 2);
	assert_null(model_stack(f->model, 78, (image_t){ 0 }));
}

static void comm_follows_the_cut(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "before");
	simple_cut(&f->script, 100, 7, 64);
	assert_string_equal(model_find_process(f->model, (image_t){ 0 })->comm, "before");
	emit_cut(&f->script, 200);
	emit_totals(&f->script, (struct record_totals){ .image = { 0 }, .comm = "after" });
	emit_cut_end(&f->script);
	assert_string_equal(model_find_process(f->model, (image_t){ 0 })->comm, "after");
}

static void losses_and_unprobed_functions_are_kept_by_copy(void **state)
{
	struct fixture *f = *state;
	char cause[] = "ring-full", why[] = "no such symbol";
	struct record_loss losses[] = { { cause, 3 } };

	emit_cut(&f->script, 100);
	emit_coverage(&f->script, false, 10, losses, 1);
	emit_cut_end(&f->script);
	emit_unprobed(&f->script, "valloc", "/lib/c", why);
	emit_unprobed(&f->script, "valloc", "/lib/c", why);
	memset(cause, 'x', sizeof(cause) - 1);
	memset(why, 'x', sizeof(why) - 1);
	assert_int_equal(model_coverage(f->model)->at_cut->n_losses, 1);
	assert_string_equal(model_coverage(f->model)->at_cut->losses[0].cause, "ring-full");
	assert_int_equal(model_coverage(f->model)->at_cut->losses[0].count, 3);
	assert_int_equal(model_coverage(f->model)->unprobed.len, 1);
	assert_string_equal(model_coverage(f->model)->unprobed.data[0].why, "no such symbol");
}

static void forked_child_holds_its_parents_regions(void **state)
{
	struct fixture *f = *state;
	struct region_totals totals;

	emit_begin(&f->script, 0, 10, RECORD_NO_IMAGE.n, 0, 0, "p");
	emit_region(&f->script, 0, 0x1000, 0x5000, 2, 9, 50);
	emit_begin(&f->script, 1, 11, 0, SCRIPT_INHERITS, 100, "p");
	emit_region_gone(&f->script, 0, 0x1000, 0x5000, 150);
	emit_region_gone(&f->script, 1, 0x1000, 0x2000, 150);

	regions_totals(model_find_process(f->model, (image_t){ 0 })->regions, &totals);
	assert_int_equal(totals.live_bytes, 0);
	assert_int_equal(totals.allocs, 1);
	regions_totals(model_find_process(f->model, (image_t){ 1 })->regions, &totals);
	assert_int_equal(totals.live_bytes, 0x3000);
	assert_int_equal(totals.allocs, 0);
	assert_int_equal(totals.peak_bytes, 0x4000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A recording may say anything; who follows the parents must come to an end. */
static void parents_are_earlier_processes(void **state)
{
	struct fixture *f = *state;

	emit_begin(&f->script, 0, 10, 0, SCRIPT_INHERITS, 0, "itself");
	emit_begin(&f->script, 1, 11, 2, SCRIPT_INHERITS, 0, "a later one");
	emit_begin(&f->script, 2, 12, 1, SCRIPT_INHERITS, 0, "an earlier one");
	assert_true(image_is_none(model_find_process(f->model, (image_t){ 0 })->parent_id));
	assert_true(image_is_none(model_find_process(f->model, (image_t){ 1 })->parent_id));
	assert_int_equal(model_find_process(f->model, (image_t){ 2 })->parent_id.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parents_are_earlier_processes),
		TEST(mapping_holds_from_its_start_to_before_its_end),
		TEST(reused_address_belongs_to_who_was_mapped_then),
		TEST(library_loaded_many_times_is_found_at_each_time),
		TEST(mapping_reported_again_holds_from_the_earlier_time),
		TEST(data_mapped_over_code_hides_it),
		TEST(forked_child_sees_what_its_parent_had_at_the_fork),
		TEST(new_image_inherits_nothing),
		TEST(name_is_the_latest),
		TEST(exec_links_that_would_make_a_circle_are_dropped),
		TEST(fork_circle_ends_the_lookup),
		TEST(probed_function_is_located_by_its_mapping),
		TEST(lowest_mapping_of_the_executable_is_found_in_ancestors_too),
		TEST(cut_replaces_the_one_before_as_a_whole),
		TEST(unfinished_cut_changes_nothing),
		TEST(ended_process_keeps_its_last_values),
		TEST(growth_is_counted_from_cut_to_cut),
		TEST(record_that_belongs_in_a_cut_is_refused_outside),
		TEST(process_whose_beginning_was_lost_still_counts),
		TEST(ended_processes_beyond_a_number_are_folded),
		TEST(whom_others_have_inherited_from_is_not_folded),
		TEST(counts_of_who_is_folded_go_where_that_is_asked_for),
		TEST(who_has_ended_has_counts_for_two_cuts_and_events_keep_all_of_a_command),
		TEST(nothing_is_folded_unless_that_is_asked_for),
		TEST(same_addresses_in_two_processes_are_two_stacks),
		TEST(comm_follows_the_cut),
		TEST(losses_and_unprobed_functions_are_kept_by_copy),
		TEST(forked_child_holds_its_parents_regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
