/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/demo/server"
#define LIBC "/lib/libc.so.6"
#define PLUGIN "/opt/demo/plugin.so"

/* A process with its executable and libc, moved by `slide`. */
static void emit_server(const struct script *s, uint32_t slot, uint32_t pid, uint64_t slide)
{
	emit_begin(s, slot, pid, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, slot, 0x10000 + slide, 0x20000 + slide, 0x1000, 1000, APP, 11);
	emit_map(s, slot, 0x80000 + slide, 0x90000 + slide, 0x2000, 1000, LIBC, 12);
}

static struct record_site live_site(uint32_t slot, uint64_t stack, int64_t bytes)
{
	return (struct record_site){ .image = { slot },
				     .fn = 1,
				     .stack = stack,
				     .live_bytes = bytes,
				     .live_blocks = 1,
				     .allocs = 2,
				     .bytes = 2 * (uint64_t)bytes,
				     .temporary = 1,
				     .peak_bytes = bytes,
				     .oldest_ns = 500,
				     .newest_ns = 100 };
}

static void emit_functions(const struct script *s)
{
	emit_run(s);
	emit_function(s, 1, "malloc", LIBC, 0x2500);
	emit_function(s, 2, "calloc", LIBC, 0x2600);
	emit_function(s, 3, "mmap", LIBC, 0x2700);
}

static void sites_of_the_same_code_at_other_addresses_are_one(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_process *p;

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_map(s, 0, 0x40000, 0x41000, 0, 2000, PLUGIN, 13);
	emit_stack(s, 71, 0, 2100, 0x40123, 0x10456);
	emit_unmap(s, 0, 0x40000, 0x41000, 3000);
	emit_map(s, 0, 0x60000, 0x61000, 0, 4000, PLUGIN, 13);
	emit_stack(s, 72, 0, 4100, 0x60123, 0x10456);
	/* The old addresses, now something else. */
	emit_map(s, 0, 0x40000, 0x41000, 0, 5000, "/opt/demo/other.so", 14);
	emit_stack(s, 73, 0, 5100, 0x40123, 0x10456);
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 71, 100));
	emit_site(s, live_site(0, 72, 50));
	emit_site(s, live_site(0, 73, 7));
	emit_cut_end(s);

	p = view_process(fixture_view(f, NULL), 0);
	assert_int_equal(p->n_sites, 2);
	assert_int_equal(p->sites[0].live_bytes, 150);
	assert_int_equal(p->sites[0].live_blocks, 2);
	assert_int_equal(p->sites[0].allocs, 4);
	assert_int_equal(p->sites[0].temporary, 2);
	assert_int_equal(p->sites[0].peak_bytes, 150);
	assert_string_equal(view_stack_place(&p->sites[0].stack, 1)->object, PLUGIN);
	assert_int_equal(p->sites[1].live_bytes, 7);
	assert_string_equal(view_stack_place(&p->sites[1].stack, 1)->object, "/opt/demo/other.so");
}

static void site_id_does_not_depend_on_addresses(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view *view;
	uint64_t id;

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_server(s, 1, 11, 0x7000000);
	emit_stack(s, 71, 0, 2000, 0x10123, 0x10456);
	emit_stack(s, 72, 1, 2000, 0x7010123, 0x7010456);
	emit_stack(s, 73, 1, 2000, 0x7010123, 0x7010457);
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 71, 100));
	emit_site(s, live_site(1, 72, 100));
	emit_site(s, live_site(1, 73, 50));
	struct record_site other = live_site(1, 72, 25);

	other.fn = 2;
	emit_site(s, other);
	emit_cut_end(s);

	view = fixture_view(f, NULL);
	id = view_process(view, 0)->sites[0].id;
	assert_int_equal(view_process(view, 1)->n_sites, 3);
	assert_int_equal(view_process(view, 1)->sites[0].id, id);
	assert_int_not_equal(view_process(view, 1)->sites[1].id, id);
	assert_int_not_equal(view_process(view, 1)->sites[2].id, id);
	assert_int_not_equal(view_process(view, 1)->sites[1].id,
			     view_process(view, 1)->sites[2].id);
	/* Written down once: reports of different versions must agree. */
	assert_true(id == 0xf6be875bb5b60a39);
}

static void frames_begin_with_the_allocator_and_hold_the_inlined(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	struct view_frames it = { 0 };
	struct view_frame frame;

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_stack(s, 71, 0, 2000, 0x10123, 0x500000);
	emit_symbol(s, APP, 11, 0x1123, { "make<int>()", 0, "/src/make.h", 7, true },
		    { "main", 0x23, "/src/main.cc", 40, false });
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 71, 100));
	emit_cut_end(s);

	it.stack = &view_process(fixture_view(f, NULL), 0)->sites[0].stack;
	assert_true(view_frames_next(&it, &frame));
	assert_string_equal(frame.function, "malloc");
	assert_true(frame.place->has_addr);
	assert_int_equal(frame.place->addr, 0x80500);
	assert_true(frame.has_offset);
	assert_int_equal(frame.offset, 0);
	assert_string_equal(frame.place->object, LIBC);

	assert_true(view_frames_next(&it, &frame));
	assert_string_equal(frame.function, "make<int>()");
	assert_true(frame.is_inline);
	assert_int_equal(frame.line, 7);
	assert_int_equal(frame.place->addr, 0x10123);

	assert_true(view_frames_next(&it, &frame));
	assert_string_equal(frame.function, "main");
	assert_false(frame.is_inline);
	assert_int_equal(frame.offset, 0x23);
	assert_int_equal(frame.place->addr, 0x10123);
	assert_int_equal(frame.place->vaddr, 0x2123);

	/* Where nothing was mapped only the address is known. */
	assert_true(view_frames_next(&it, &frame));
	assert_null(frame.function);
	assert_null(frame.place->object);
	assert_false(frame.has_offset);
	assert_int_equal(frame.place->addr, 0x500000);
	assert_false(view_frames_next(&it, &frame));
}

static void call_at_the_very_end_of_a_mapping_belongs_to_it(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_site *site;

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_map(s, 0, 0x20000, 0x30000, 0, 1000, PLUGIN, 13);
	emit_stack(s, 71, 0, 2000, 0x20000);
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 71, 100));
	emit_cut_end(s);
	site = &view_process(fixture_view(f, NULL), 0)->sites[0];
	assert_string_equal(view_stack_place(&site->stack, 1)->object, APP);
	assert_int_equal(view_stack_place(&site->stack, 1)->offset, 0x11000);
	assert_int_equal(view_stack_place(&site->stack, 1)->addr, 0x20000);
}

/* 0x20000 as a return address is the end of the server's code, as a place the plugin's start. */
static void frames_that_a_signal_interrupted_are_no_return_addresses(void **state)
{
	static const uint64_t frames[200] = {
		[0] = 0x20000,	[1] = 0x20000,	 [2] = 0x20000,	  [63] = 0x20000,
		[64] = 0x20000, [127] = 0x20000, [128] = 0x20000, [192] = 0x20000,
	};
	static const uint64_t more_exact[] = { 1 << 0 };
	static const struct {
		size_t frame;
		const char *exact, *interrupted; /* the object in each of the two stacks */
	} cases[] = {
		{ 0, APP, PLUGIN },  { 1, PLUGIN, APP }, { 2, APP, APP },      { 63, APP, APP },
		{ 64, PLUGIN, APP }, { 127, APP, APP },	 { 128, PLUGIN, APP }, { 192, APP, APP },
	};
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_process *process;

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_map(s, 0, 0x20000, 0x30000, 0, 1000, PLUGIN, 13);
	emit(s, &(struct record){ .type = RECORD_STACK,
				  .stack = { .id = 71,
					     .time_ns = 2000,
					     .n_frames = 200,
					     .frames = frames,
					     .exact = { 1 << 1, 1 << 0 },
					     .n_more_exact = 1,
					     .more_exact = more_exact } });
	emit(s, &(struct record){ .type = RECORD_STACK,
				  .stack = { .id = 72,
					     .time_ns = 2000,
					     .n_frames = 200,
					     .frames = frames,
					     .interrupted = true } });
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 71, 200));
	emit_site(s, live_site(0, 72, 100));
	emit_cut_end(s);
	process = view_process(fixture_view(f, NULL), 0);
	assert_int_equal(process->n_sites, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = cases[i].frame + 1; /* behind the allocator */

		assert_string_equal(view_stack_place(&process->sites[0].stack, at)->object,
				    cases[i].exact);
		assert_string_equal(view_stack_place(&process->sites[1].stack, at)->object,
				    cases[i].interrupted);
	}
}

static void lost_stack_leaves_the_allocator_alone(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_process *p;
	struct record_site unknown = live_site(0, 99, 1);

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 98, 100));
	emit_site(s, live_site(0, 97, 10));
	unknown.fn = 0;
	emit_site(s, unknown);
	emit_cut_end(s);
	p = view_process(fixture_view(f, NULL), 0);
	assert_int_equal(p->n_sites, 2);
	assert_int_equal(p->sites[0].live_bytes, 110);
	assert_true(p->sites[0].stack.lost);
	assert_int_equal(p->sites[0].stack.n_places, 1);
	assert_int_equal(p->sites[1].stack.n_places, 0);
}

static void system_call_is_a_frame_in_no_object(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	struct view_frames it = { 0 };
	struct view_frame frame;

	emit_run(s);
	emit_function(s, 3, "mmap", "", 0);
	emit_server(s, 0, 10, 0);
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_region(s, 0, 0x7000000, 0x7004000, 3, 71, 8500);
	it.stack = &view_process(fixture_view(f, NULL), 0)->sites->stack;
	assert_true(view_frames_next(&it, &frame));
	assert_string_equal(frame.function, "mmap");
	assert_false(frame.place->has_addr);
	assert_null(frame.place->object);
}

static void processes_stand_with_the_roots_first(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view *view;
	static const uint32_t expected[] = { 2, 5, 3, 1, 4, 8, 7 };

	emit_run(s);
	emit_begin(s, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 100, "launcher");
	emit_begin(s, 1, 20, 0, SCRIPT_INHERITS, 500, "child");
	/* The root's exec comes after its child; the first image allocated nothing. */
	emit_begin(s, 2, 10, 0, SCRIPT_ROOT, 600, "server");
	emit_begin(s, 3, 30, RECORD_NO_IMAGE.n, 0, 300, "early");
	emit_begin(s, 4, 40, RECORD_NO_IMAGE.n, 0, 700, "late");
	emit_begin(s, 5, 50, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 50, "second root");
	/* Three images, of which the first two allocated. */
	emit_begin(s, 6, 60, RECORD_NO_IMAGE.n, 0, 800, "first");
	emit_begin(s, 7, 60, 6, 0, 810, "second");
	emit_begin(s, 8, 60, 7, 0, 820, "third");
	emit_cut(s, 9000);
	emit_totals(s, (struct record_totals){ .image = { 7 }, .allocs = 1 });
	emit_cut_end(s);

	view = fixture_view(f, NULL);
	assert_int_equal(view_n_processes(view), sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < view_n_processes(view); i++)
		assert_int_equal(view_process(view, i)->image->id.n, expected[i]);
}

static void what_begins_while_the_cut_is_read_is_no_part_of_it(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;

	emit_run(s);
	emit_begin(s, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 100, "server");
	emit_cut(s, 9000);
	emit_totals(s, (struct record_totals){ .image = { 0 }, .allocs = 1 });
	emit_begin(s, 1, 11, 0, SCRIPT_INHERITS, 9001, "child");
	emit_cut_end(s);
	emit_begin(s, 2, 12, 0, SCRIPT_INHERITS, 9002, "child");
	/* A new image of what is in the cut hides nothing of it. */
	emit_begin(s, 3, 10, 0, SCRIPT_ROOT, 9003, "anew");

	assert_int_equal(view_n_processes(fixture_view(f, NULL)), 1);
	assert_int_equal(view_process(f->view, 0)->image->id.n, 0);
}

static void image_that_only_mapped_is_listed_when_replaced(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;

	emit_begin(s, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 100, "launcher");
	emit_begin(s, 1, 11, 0, SCRIPT_INHERITS, 200, "launcher");
	emit_region(s, 0, 0x1000, 0x2000, 3, 5, 150);
	emit_begin(s, 2, 12, 0, SCRIPT_INHERITS, 200, "launcher");
	emit_begin(s, 3, 10, 0, SCRIPT_ROOT, 300, "a");
	/* It inherited the region, but made nothing itself. */
	emit_begin(s, 4, 12, 2, 0, 300, "b");
	assert_int_equal(view_n_processes(fixture_view(f, NULL)), 4);
	assert_int_equal(view_process(f->view, 0)->image->id.n, 3);
	assert_int_equal(view_process(f->view, 1)->image->id.n, 0);
	assert_int_equal(view_process(f->view, 2)->image->id.n, 1);
	assert_int_equal(view_process(f->view, 3)->image->id.n, 4);
}

static void samples_are_not_sorted_by_what_was_temporary(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct report_opts opts = { .sort = SORT_TEMPORARY };

	emit(s, &(struct record){
			.type = RECORD_RUN,
			.run = { .tool = "memtraced", .kernel = "6.1.0", .sampled = true } });
	emit_function(s, 1, "malloc", LIBC, 0x2500);
	emit_server(s, 0, 10, 0);
	for (uint64_t i = 1; i <= 2; i++)
		emit_stack(s, i, 0, 2000, 0x10000 + i);
	emit_cut(s, 9000);
	for (uint64_t i = 1; i <= 2; i++)
		emit_site(s, live_site(0, i, 100 * (int64_t)i));
	emit_totals(s, (struct record_totals){ .image = { 0 }, .sample_interval = 64 });
	emit_cut_end(s);
	fixture_view(f, &opts);
	assert_int_equal(view_opts(f->view)->sort, SORT_BYTES);
	assert_int_equal(view_process(f->view, 0)->sites[0].live_bytes, 200);
}

static void sites_are_sorted_as_asked(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	/* Sites by their bytes; each is the first by one measure. */
	static const struct {
		enum option_sort sort;
		int64_t first, last;
	} cases[] = {
		{ SORT_BYTES, 500, 100 }, { SORT_COUNT, 400, 500 },	{ SORT_GROWTH, 300, 500 },
		{ SORT_PEAK, 200, 500 },  { SORT_TEMPORARY, 100, 500 },
	};

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	for (uint64_t i = 1; i <= 5; i++)
		emit_stack(s, i, 0, 2000, 0x10000 + i);
	emit_cut(s, 8000);
	emit_site(s, live_site(0, 5, 500));
	emit_site(s, live_site(0, 4, 380));
	emit_site(s, live_site(0, 2, 180));
	emit_site(s, live_site(0, 1, 80));
	emit_cut_end(s);
	emit_cut(s, 9000);
	for (uint64_t i = 1; i <= 5; i++) {
		struct record_site site = live_site(0, i, 100 * (int64_t)i);

		site.live_blocks = i == 4 ? 50 : i == 5 ? 1 : 5;
		site.peak_bytes = i == 2 ? 5000 : i == 5 ? 600 : 700;
		site.temporary = i == 1 ? 9 : i == 5 ? 0 : 1;
		emit_site(s, site);
	}
	emit_cut_end(s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_opts opts = { .sort = cases[i].sort };
		const struct view_process *p = view_process(fixture_view(f, &opts), 0);

		assert_int_equal(p->n_sites, 5);
		assert_int_equal(p->sites[0].live_bytes, cases[i].first);
		assert_int_equal(p->sites[4].live_bytes, cases[i].last);
	}
}

static void older_than_leaves_out_what_is_young_and_says_so(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	/* Of sites with a live block of 500 ns, of unknown age, and without live blocks. */
	static const struct {
		uint64_t older_than_ns;
		size_t shown, left_out;
		int64_t left_out_bytes;
	} cases[] = { { 0, 3, 0, 0 }, { 500, 2, 1, 0 }, { 501, 1, 2, 100 } };

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	for (uint64_t i = 1; i <= 3; i++)
		emit_stack(s, i, 0, 2000, 0x10000 + i);
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 1, 100));
	struct record_site unknown = live_site(0, 2, 200), dead = live_site(0, 3, 0);

	unknown.oldest_ns = unknown.newest_ns = UINT64_MAX;
	dead.live_blocks = 0;
	emit_site(s, unknown);
	emit_site(s, dead);
	emit_cut_end(s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_opts opts = { .older_than_ns = cases[i].older_than_ns };
		const struct view_process *p = view_process(fixture_view(f, &opts), 0);

		assert_int_equal(p->n_sites, cases[i].shown);
		assert_int_equal(p->n_left_out, cases[i].left_out);
		assert_int_equal(p->left_out_bytes, cases[i].left_out_bytes);
	}
}

static void process_is_exact_only_when_no_loss_can_be_its(void **state)
{
	static const struct {
		bool exact;
		uint64_t lost_in_0, lost_in_all;
		bool exact_0, exact_1;
	} cases[] = {
		{ true, 0, 0, true, true },
		{ false, 0, 0, false, false }, /* a gap that nobody counted */
		{ false, 3, 3, false, true },
		{ false, 3, 4, false, false },
		{ false, 0, 4, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;
		const struct record_loss loss = { "ring-full", cases[i].lost_in_all };
		const struct view *view;

		fixture_init(&f);
		emit_begin(&f.script, 0, 10, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 0, "a");
		emit_begin(&f.script, 1, 11, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 0, "b");
		emit_cut(&f.script, 9000);
		emit_totals(&f.script,
			    (struct record_totals){ .image = { 0 }, .lost = cases[i].lost_in_0 });
		emit_totals(&f.script, (struct record_totals){ .image = { 1 } });
		emit_coverage(&f.script, cases[i].exact, 10, &loss, loss.count > 0);
		emit_cut_end(&f.script);
		view = fixture_view(&f, NULL);
		assert_int_equal(view_is_exact(view), cases[i].exact);
		assert_int_equal(view_process(view, 0)->exact, cases[i].exact_0);
		assert_int_equal(view_process(view, 1)->exact, cases[i].exact_1);
		fixture_done(&f);
	}
}

static void count_below_zero_is_zero_and_not_exact(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_process *p;

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_server(s, 1, 11, 0);
	emit_cut(s, 9000);
	emit_totals(s, (struct record_totals){ .image = { 0 }, .live_bytes = -5 });
	emit_totals(s, (struct record_totals){ .image = { 1 }, .live_bytes = 5 });
	emit_site(s, live_site(1, 1, -5));
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
	p = view_process(fixture_view(f, NULL), 0);
	assert_int_equal(p->totals.live_bytes, 0);
	assert_false(p->exact);
	p = view_process(f->view, 1);
	assert_int_equal(p->sites[0].live_bytes, 0);
	assert_false(p->exact);
}

static void bytes_without_blocks_are_none_and_not_exact(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	struct record_site site = live_site(0, 1, 5);
	const struct view_process *p;

	site.live_blocks = 0;
	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_cut(s, 9000);
	emit_totals(s, (struct record_totals){ .image = { 0 }, .live_bytes = 5, .live_blocks = 1 });
	emit_site(s, site);
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
	p = view_process(fixture_view(f, NULL), 0);
	assert_int_equal(p->totals.live_bytes, 5);
	assert_int_equal(p->sites[0].live_bytes, 0);
	assert_false(p->exact);
}

static void mmap_sites_are_a_class_of_their_own(void **state)
{
	struct fixture *f = *state;
	const struct script *s = &f->script;
	const struct view_process *p;

	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_region(s, 0, 0x7000000, 0x7004000, 3, 71, 8500);
	emit_region(s, 0, 0x7010000, 0x7011000, 3, 71, 8900);
	emit_cut(s, 9000);
	struct record_site heap = live_site(0, 71, 100);

	heap.fn = 3;
	emit_site(s, heap);
	emit_cut_end(s);
	p = view_process(fixture_view(f, NULL), 0);
	assert_int_equal(p->n_sites, 2);
	assert_int_equal(p->sites[0].class, VIEW_MMAP);
	assert_int_equal(p->sites[0].live_bytes, 0x5000);
	assert_int_equal(p->sites[0].oldest_ns, 500);
	assert_int_equal(p->sites[0].newest_ns, 100);
	assert_true(p->sites[0].temporary == VIEW_UNKNOWN);
	assert_int_equal(p->sites[1].class, VIEW_HEAP);
	assert_int_not_equal(p->sites[0].id, p->sites[1].id);
	assert_true(p->has_mmap);
	assert_int_equal(p->mmap.live_bytes, 0x5000);
}

static void emit_jit_site(const struct script *s)
{
	emit_functions(s);
	emit_server(s, 0, 10, 0);
	emit_map(s, 0, 0x300000, 0x310000, 0, 1000, "[anon]", 0);
	emit_stack(s, 71, 0, 2000, 0x300110, 0x10123);
	emit_cut(s, 9000);
	emit_site(s, live_site(0, 71, 100));
	emit_cut_end(s);
}

static const struct record compute = { .type = RECORD_JIT_CODE,
				       .jit_code = { .start = 0x300100,
						     .size_bytes = 0x40,
						     .name = "Script:compute",
						     .source = "/tmp/perf-10.map" } };

static void jit_map_names_code_without_a_file(void **state)
{
	struct fixture *f = *state;
	struct view_frames it = { 0 };
	struct view_frame frame;

	emit_jit_site(&f->script);
	it.stack = &view_process(fixture_view(f, NULL), 0)->sites[0].stack;
	view_frames_next(&it, &frame);
	assert_true(view_frames_next(&it, &frame));
	assert_null(frame.function);
	assert_string_equal(frame.place->object, "[anon]");

	/* The map is read later; what was looked up without it is void. */
	emit(&f->script, &compute);
	it = (struct view_frames){
		.stack = &view_process(fixture_view(f, NULL), 0)->sites[0].stack
	};
	view_frames_next(&it, &frame);
	assert_true(view_frames_next(&it, &frame));
	assert_string_equal(frame.function, "Script:compute");
	assert_int_equal(frame.offset, 0x10);
	assert_string_equal(frame.place->object, "/tmp/perf-10.map");
	assert_int_equal(frame.place->vaddr, 0x300110);
}

static void places_beyond_the_room_are_shown_as_others_and_lost(void **state)
{
	struct fixture *f = *state;
	struct view_frames it = { 0 };
	struct view_frame frame;

	symbols_limit(f->symbols, 0);
	emit_jit_site(&f->script);
	emit_cut(&f->script, 9500);
	emit_site(&f->script, live_site(0, 71, 100));
	emit_coverage(&f->script, true, 1, NULL, 0);
	emit_cut_end(&f->script);
	/* A report's count is its own. */
	for (size_t i = 0; i < 2; i++) {
		const struct record_coverage *coverage;

		it = (struct view_frames){
			.stack = &view_process(fixture_view(f, NULL), 0)->sites[0].stack
		};
		assert_true(view_frames_next(&it, &frame));
		assert_string_equal(frame.function, "malloc");
		assert_true(view_frames_next(&it, &frame));
		assert_string_equal(frame.function, "[other code]");
		assert_string_equal(frame.place->object, "[anon]");
		assert_false(frame.place->has_addr);
		assert_true(view_frames_next(&it, &frame));
		assert_string_equal(frame.function, "[other code]");
		assert_string_equal(frame.place->object, APP);
		assert_false(view_frames_next(&it, &frame));
		coverage = view_coverage(f->view);
		assert_int_equal(coverage->n_losses, 1);
		assert_string_equal(coverage->losses[0].cause, "code-places-full");
		assert_int_equal(coverage->losses[0].count, 2);
		assert_true(coverage->exact);
	}
}

/* As recordings had it that know no RECORD_JIT_CODE. */
static void recorded_symbol_of_a_process_names_code_without_a_file(void **state)
{
	static const struct record_symbol_frame compute_frame = { "Script:compute", 0x10, NULL, 0,
								  false };
	struct fixture *f = *state;
	struct view_frames it = { 0 };
	struct view_frame frame;

	emit_jit_site(&f->script);
	emit(&f->script, &(struct record){ .type = RECORD_SYMBOL,
					   .symbol = { .object = "/tmp/perf-10.map",
						       .file_offset = 0x300110,
						       .is_call = true,
						       .vaddr = 0x300110,
						       .n_frames = 1,
						       .frames = &compute_frame } });
	it.stack = &view_process(fixture_view(f, NULL), 0)->sites[0].stack;
	view_frames_next(&it, &frame);
	assert_true(view_frames_next(&it, &frame));
	assert_string_equal(frame.function, "Script:compute");
	assert_int_equal(frame.offset, 0x10);
	assert_string_equal(frame.place->object, "/tmp/perf-10.map");
}

static void recorded_symbols_give_the_same_report(void **state)
{
	struct fixture *f = *state, other;
	_cleanup_free_ char *first = NULL, *second = NULL;

	emit_symbol(&f->script, APP, 11, 0x1123, { "lost: no such object yet", 0, NULL, 0, false });
	emit_jit_site(&f->script);
	emit_symbol(&f->script, APP, 11, 0x1123, { "make", 0, "/src/make.h", 7, true },
		    { "main", 0x23, "/src/main.cc", 40, false });
	emit(&f->script, &compute);
	first = fixture_report(f, "json", NULL);
	assert_non_null(strstr(first, "Script:compute"));
	assert_non_null(strstr(first, "\"make\""));

	fixture_init(&other);
	emit_jit_site(&other.script);
	emit(&other.script, &compute);
	assert_int_equal(symbols_each_new(f->symbols, fixture_apply, &other), 0);
	second = fixture_report(&other, "json", NULL);
	assert_string_equal(first, second);
	fixture_done(&other);
}

/* Whoever chooses the addresses could have one hash of all, and have sites compared with all. */
static void stacks_that_were_chosen_to_have_one_hash_have_others(void **state)
{
	const struct view_place first[] = { { .addr = 1 }, { .addr = 2 } };
	const struct view_place second[] = { { .addr = 5 ^ hash_u64(1) },
					     { .addr = 5 ^ hash_u64(2) } };
	uint64_t hashes[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct view_place *places[] = { &first[i], &second[i] };
		const struct view_stack stack = { .places = places, .n_places = 2 };

		hashes[i] = view_stack_hash(&stack);
	}
	assert_true(hashes[0] != hashes[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sites_of_the_same_code_at_other_addresses_are_one),
		TEST(site_id_does_not_depend_on_addresses),
		TEST(frames_begin_with_the_allocator_and_hold_the_inlined),
		TEST(call_at_the_very_end_of_a_mapping_belongs_to_it),
		TEST(frames_that_a_signal_interrupted_are_no_return_addresses),
		TEST(lost_stack_leaves_the_allocator_alone),
		TEST(system_call_is_a_frame_in_no_object),
		TEST(processes_stand_with_the_roots_first),
		TEST(what_begins_while_the_cut_is_read_is_no_part_of_it),
		TEST(image_that_only_mapped_is_listed_when_replaced),
		TEST(sites_are_sorted_as_asked),
		TEST(samples_are_not_sorted_by_what_was_temporary),
		TEST(samples_are_not_sorted_by_what_was_temporary),
		TEST(older_than_leaves_out_what_is_young_and_says_so),
		TEST(process_is_exact_only_when_no_loss_can_be_its),
		TEST(count_below_zero_is_zero_and_not_exact),
		TEST(bytes_without_blocks_are_none_and_not_exact),
		TEST(mmap_sites_are_a_class_of_their_own),
		TEST(jit_map_names_code_without_a_file),
		TEST(places_beyond_the_room_are_shown_as_others_and_lost),
		TEST(recorded_symbol_of_a_process_names_code_without_a_file),
		TEST(recorded_symbols_give_the_same_report),
		cmocka_unit_test(stacks_that_were_chosen_to_have_one_hash_have_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
