/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/pprof/drop_frames.h"

#include "report/view/view.h"

#include "tests/report_fixture.h"

#define APP "/opt/app"
#define LIBSTDCXX "/usr/lib/libstdc++.so.6"
#define SECOND 1000000000ull

/* Addresses of frames; 0 is the end of a stack, which malloc is the innermost frame of. */
#define MAIN 0x10101
#define PARSE 0x10201
#define LESS 0x10301
#define INVOKE 0x10401
#define COLLECT 0x10501 /* with two functions of std::vector inlined */
#define NEW 0x30101
#define SORT 0x30201

static void begin(struct fixture *f)
{
	const struct script *s = &f->script;

	fixture_init(f);
	emit_run(s);
	emit_function(s, 1, "malloc", "/usr/lib/libc.so.6", 0x9a000);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "app");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, APP, 11);
	emit_map(s, 0, 0x30000, 0x40000, 0x1000, 1000, LIBSTDCXX, 12);
	emit_symbol(s, APP, 11, 0x1101, { "main", 1, NULL, 0, false });
	emit_symbol(s, APP, 11, 0x1201, { "parse(int)", 1, NULL, 0, false });
	emit_symbol(s, APP, 11, 0x1301, { "less(A, A)", 1, NULL, 0, false });
	emit_symbol(s, APP, 11, 0x1401,
		    { "std::_Bind<run()::{lambda()#1}>::call", 1, NULL, 0, false });
	emit_symbol(s, APP, 11, 0x1501, { "std::vector<int>::push_back(int)", 0, NULL, 0, true },
		    { "void std::vector<int>::grow<int>()", 0, NULL, 0, true },
		    { "collect()", 1, NULL, 0, false });
	emit_symbol(s, LIBSTDCXX, 12, 0x1101, { "operator new(unsigned long)", 1, NULL, 0, false });
	emit_symbol(s, LIBSTDCXX, 12, 0x1201, { "std::sort<A*>(A*)", 1, NULL, 0, false });
}

static void what_is_inside_of_the_name_is_dropped_and_nothing_that_calls_it(void **state)
{
	static const struct {
		const char *pattern; /* NULL: none */
		uint64_t stacks[2][4];
	} cases[] = {
		{ "malloc", { { PARSE, MAIN } } },
		{ "operator new", { { NEW, PARSE, MAIN }, { NEW, MAIN } } },
		{ "operator new|void std::vector<int>::grow<int>",
		  { { NEW, PARSE }, { COLLECT } } },
		{ "std::sort<A\\*>", { { SORT, PARSE, MAIN } } },
		/* std::sort calls a user's function, too: what it calls itself is dropped. */
		{ "malloc", { { SORT, PARSE, MAIN }, { LESS, SORT, PARSE, MAIN } } },
		{ "operator new|malloc", { { NEW, SORT, PARSE }, { LESS, SORT, PARSE } } },
		{ "std::_Bind<run", { { INVOKE, MAIN } } },
		{ NULL, { { NEW, SORT } } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(drop_frames_done) struct drop_frames frames = { 0 };
		const struct view_process *process;
		struct fixture f;

		begin(&f);
		emit_cut(&f.script, 10 * SECOND);
		for (size_t j = 0; j < 2 && cases[i].stacks[j][0]; j++) {
			size_t n = 0;

			while (n < 4 && cases[i].stacks[j][n])
				n++;
			emit_stack_of(&f.script, j + 1, 0, 2000, false, cases[i].stacks[j], n);
			emit_site(&f.script, (struct record_site){ .fn = 1,
								   .stack = j + 1,
								   .live_bytes = 20 - (int64_t)j,
								   .live_blocks = 1,
								   .allocs = 1,
								   .bytes = 20 });
		}
		emit_cut_end(&f.script);
		process = view_process(fixture_view(&f, NULL), 0);
		for (size_t j = 0; j < process->n_sites; j++)
			assert_int_equal(drop_frames_mark(&frames, &process->sites[j].stack), 0);
		for (size_t j = 0; j < process->n_sites; j++)
			assert_int_equal(drop_frames_drop(&frames, &process->sites[j].stack), 0);
		if (cases[i].pattern)
			assert_string_equal(drop_frames_pattern(&frames), cases[i].pattern);
		else
			assert_null(drop_frames_pattern(&frames));
		fixture_done(&f);
	}
}

static void parameters_are_not_matched(void **state)
{
	static const char *const cases[][2] = {
		{ "malloc", "malloc" },
		{ ".malloc", "malloc" },
		{ "operator new(unsigned long)", "operator new" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
		{ "std::less<int>::operator()(int, int) const", "std::less<int>::operator()" },
		{ "f<(anonymous namespace)::A>(operator())", "f<(anonymous namespace)::A>" },
		{ "std::function<void (int)>::operator()(int)", "std::function<void " },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		drop_frames_matched(cases[i][0], &out);
		assert_string_equal(strbuf_str(&out), cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_inside_of_the_name_is_dropped_and_nothing_that_calls_it),
		cmocka_unit_test(parameters_are_not_matched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
