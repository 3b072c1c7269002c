/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view.h"

#include "tests/report_fixture.h"

#include <string.h>

#define APP "/opt/app"
#define LIBC "/usr/lib/libc.so.6"
#define LIBSTDCXX "/usr/lib/libstdc++.so.6"
#define SECOND 1000000000ull

/* Objects, by mapping: the program from 0x10000 on, libstdc++, libc. */
static void begin(struct fixture *f)
{
	const struct script *s = &f->script;

	fixture_init(f);
	emit_run(s);
	emit_function(s, 1, "malloc", LIBC, 0x9a000);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "app");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_map(s, 0, 0x30000, 0x40000, 0x1000, 1000, LIBSTDCXX, 12);
	emit_map(s, 0, 0x50000, 0x60000, 0x1000, 1000, LIBC, 13);
	emit_symbol(s, APP, 11, 0x1101, { "parse()", 1, "/src/parse.c", 10, false });
	emit_symbol(s, APP, 11, 0x1201, { "main", 1, "/src/main.c", 20, false });
	emit_symbol(s, APP, 11, 0x1301, { "zmalloc", 1, "/src/zmalloc.c", 7, false });
	emit_symbol(s, APP, 11, 0x1401,
		    { "std::vector<int>::push_back(int)", 0, "/usr/include/vector", 5, true },
		    { "void std::vector<int>::grow<int>()", 0, "/usr/include/vector", 6, true },
		    { "collect", 9, "/src/collect.cc", 31, true },
		    { "main", 1, "/src/main.c", 21, false });
	emit_symbol(s, LIBSTDCXX, 12, 0x1101, { "operator new(unsigned long)", 1, NULL, 0, false });
	emit_symbol(s, LIBC, 13, 0x1101, { "strdup", 1, NULL, 0, false });
	emit_symbol(s, LIBC, 13, 0x1201, { "__libc_start_main", 1, NULL, 0, false });
}

/* "function (file:line)" of the process's site. */
static char *words_of(const struct view *view, size_t site)
{
	_cleanup_strbuf_ struct strbuf out = { 0 };
	struct view_frame frame;

	assert_true(view_stack_name(&view_process(view, 0)->sites[site].stack, &frame));
	view_frame_words(&frame, &out);
	assert_int_equal(strbuf_error(&out), 0);
	return strdup(strbuf_str(&out));
}

/* Of the only site. */
static char *name_of(struct fixture *f, char *const *wrappers)
{
	const struct report_opts opts = { .wrappers = wrappers };
	const struct script *s = &f->script;
	const struct view *view;

	emit_cut(s, 10 * SECOND);
	emit_totals(s, (struct record_totals){ .allocs = 1, .live_bytes = 10 });
	emit_site(s, (struct record_site){ .fn = 1,
					   .stack = 1,
					   .live_bytes = 10,
					   .live_blocks = 1,
					   .allocs = 1,
					   .bytes = 10 });
	emit_coverage(s, true, 1, NULL, 0);
	emit_cut_end(s);
	view = fixture_view(f, &opts);
	assert_int_equal(view_process(view, 0)->n_sites, 1);
	return words_of(view, 0);
}

#define NAMED_BY(wrappers, expected, ...)                                                          \
	do {                                                                                       \
		_cleanup_free_ char *name = NULL;                                                  \
		struct fixture f;                                                                  \
                                                                                                   \
		begin(&f);                                                                         \
		emit_stack(&f.script, 1, 0, 2000, __VA_ARGS__);                                    \
		name = name_of(&f, wrappers);                                                      \
		assert_string_equal(name, expected);                                               \
		fixture_done(&f);                                                                  \
	} while (0)
#define NAMED(expected, ...) NAMED_BY(NULL, expected, __VA_ARGS__)

static void a_site_is_named_by_the_first_frame_that_is_no_wrapper(void **state)
{
	(void)state;
	NAMED("parse() (parse.c:10)", 0x10101, 0x10201);
	NAMED("parse() (parse.c:10)", 0x10301, 0x10101, 0x10201);
	NAMED("parse() (parse.c:10)", 0x30101, 0x10101, 0x10201);
	NAMED("main (main.c:20)", 0x50101, 0x10301, 0x10201, 0x50201);
}

static void an_inlined_function_is_one_too(void **state)
{
	(void)state;
	NAMED("collect (collect.cc:31)", 0x30101, 0x10401, 0x50201);
}

static void where_all_are_wrappers_it_is_the_first(void **state)
{
	(void)state;
	NAMED("strdup", 0x50101, 0x10301, 0x50201);
}

static void where_no_caller_is_known_it_is_the_allocator(void **state)
{
	_cleanup_free_ char *name = NULL;
	struct fixture f;

	(void)state;
	begin(&f);
	emit_stack_of(&f.script, 1, 0, 2000, true, NULL, 0);
	name = name_of(&f, NULL);
	assert_string_equal(name, "malloc");
	fixture_done(&f);
}

static void what_the_user_calls_a_wrapper_is_one(void **state)
{
	char *others[] = { "pars", "*parse(*", NULL }, *wrappers[] = { "none", "p?r*", NULL };

	(void)state;
	NAMED_BY(others, "parse() (parse.c:10)", 0x10101, 0x10201);
	NAMED_BY(wrappers, "main (main.c:20)", 0x10101, 0x10201);
}

/* One event, whose stack goes from libstdc++ through libc to parse(): a page fault, or a call. */
static char *name_of_event(struct fixture *f, uint64_t page_bytes)
{
	const struct script *s = &f->script;
	const struct view_event *event;
	_cleanup_strbuf_ struct strbuf out = { 0 };
	struct view_frame frame;

	emit(s, &(struct record){ .type = RECORD_EVENT,
				  .event = { .id = 1,
					     .name = page_bytes ? "page-faults" : "probe:strdup",
					     .page_bytes = page_bytes } });
	emit_stack(s, 1, 0, 2000, 0x30101, 0x50101, 0x10101, 0x10201);
	emit_cut(s, 10 * SECOND);
	emit_event_count(s,
			 (struct record_event_count){ 1, { 0 }, 1, 0, 1, 2000, 2000, 0, 0, 0, 0 });
	emit_coverage(s, true, 1, NULL, 0);
	emit_cut_end(s);
	event = view_event(fixture_view(f, NULL), 0);
	assert_int_equal(event->n_stacks, 1);
	assert_true(view_stack_name(&event->stacks[0].stack, &frame));
	view_frame_words(&frame, &out);
	assert_int_equal(strbuf_error(&out), 0);
	return strdup(strbuf_str(&out));
}

static void page_faults_count_for_what_calls_memset(void **state)
{
	static const struct {
		uint64_t page_bytes;
		const char *name;
	} cases[] = { { 4096, "parse() (parse.c:10)" }, { 0, "operator new(unsigned long)" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *name = NULL;
		struct fixture f;

		begin(&f);
		name = name_of_event(&f, cases[i].page_bytes);
		assert_string_equal(name, cases[i].name);
		fixture_done(&f);
	}
}

/*
 * get() calls zmalloc at one place, for `n_callers` functions; what it asks for differs, if
 * `differs`. One more site where get() calls another function, if `calls`.
 */
static const struct view *view_of_learnt(struct fixture *f, size_t n_callers, bool differs,
					 bool calls, uint64_t offset)
{
	static char names[16][32];
	const struct script *s = &f->script;

	begin(f);
	emit_symbol(s, APP, 11, 0x1501, { "get", offset, "/src/get.c", 3, false });
	for (size_t i = 0; i < n_callers; i++) {
		uint64_t at = 0x2001 + 0x100 * i;

		snprintf(names[i], sizeof(names[i]), "user%zu", i);
		emit_symbol(s, APP, 11, at, { names[i], 1, NULL, 0, false });
		emit_stack(s, 1 + i, 0, 2000, 0x10301, 0x10501, 0xf000 + at, 0x10201);
	}
	emit_stack(s, 100, 0, 2000, 0x10101, 0x10501, 0x10201);
	emit_cut(s, 10 * SECOND);
	emit_totals(s, (struct record_totals){ .allocs = 1, .live_bytes = 10 });
	for (size_t i = 0; i < n_callers; i++) {
		uint64_t bytes = 1000 - (differs ? i : 0);

		emit_site(s, (struct record_site){ .fn = 1,
						   .stack = 1 + i,
						   .live_bytes = (int64_t)bytes,
						   .live_blocks = 1,
						   .allocs = 1,
						   .bytes = bytes });
	}
	if (calls)
		emit_site(s,
			  (struct record_site){ .fn = 1, .stack = 100, .allocs = 1, .bytes = 1 });
	emit_coverage(s, true, 1, NULL, 0);
	emit_cut_end(s);
	return fixture_view(f, NULL);
}

static char *name_of_learnt(size_t n_callers, bool differs, bool calls, uint64_t offset)
{
	struct fixture f;
	char *name = words_of(view_of_learnt(&f, n_callers, differs, calls, offset), 0);

	fixture_done(&f);
	return name;
}

static void what_passes_a_size_on_for_many_is_learnt(void **state)
{
	static const struct {
		size_t n_callers;
		bool differs, calls;
		uint64_t offset;
		const char *name;
	} cases[] = {
		{ 8, true, false, 20, "user0" },	  { 7, true, false, 20, "get (get.c:3)" },
		{ 8, false, false, 20, "get (get.c:3)" }, { 8, true, true, 20, "get (get.c:3)" },
		{ 8, true, false, 500, "get (get.c:3)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *name = name_of_learnt(cases[i].n_callers, cases[i].differs,
							   cases[i].calls, cases[i].offset);

		assert_string_equal(name, cases[i].name);
	}
}

static void what_one_run_has_learnt_holds_in_another(void **state)
{
	struct fixture f, g;
	const struct view *many = view_of_learnt(&f, 8, true, false, 20);
	const struct view *few = view_of_learnt(&g, 2, true, false, 20);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_free_ char *of_many = words_of(many, 1), *of_few = words_of(few, 1);

		assert_string_equal(of_many, "user1");
		assert_string_equal(of_few, i == 0 ? "get (get.c:3)" : "user1");
		assert_int_equal(view_share_names(f.view, g.view), 0);
	}
	fixture_done(&f);
	fixture_done(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_is_named_by_the_first_frame_that_is_no_wrapper),
		cmocka_unit_test(an_inlined_function_is_one_too),
		cmocka_unit_test(where_all_are_wrappers_it_is_the_first),
		cmocka_unit_test(where_no_caller_is_known_it_is_the_allocator),
		cmocka_unit_test(what_the_user_calls_a_wrapper_is_one),
		cmocka_unit_test(page_faults_count_for_what_calls_memset),
		cmocka_unit_test(what_passes_a_size_on_for_many_is_learnt),
		cmocka_unit_test(what_one_run_has_learnt_holds_in_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
