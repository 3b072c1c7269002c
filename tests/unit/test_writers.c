/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/escape.h"
#include "report/text/text.h"
#include "tests/report_fixture.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#define APP "/opt/demo/server"

/* A run of one process with one site of one caller, whose names are the test's. */
static void one_site(struct fixture *f, const char *comm, const char *path, const char *function)
{
	const struct script *s = &f->script;

	fixture_init(f);
	emit_run(s);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, comm);
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, path, 11);
	emit_stack(s, 71, 0, 2000, 0x10123);
	emit_symbol(s, path, 11, 0x1123, { function, 0x19, NULL, 0, false });
	emit_cut(s, 9000);
	emit_totals(s, (struct record_totals){ .image = { 0 }, .allocs = 1, .live_bytes = 64 });
	emit_site(s, (struct record_site){
			     .image = { 0 }, .stack = 71, .live_bytes = 64, .live_blocks = 1 });
	emit_coverage(s, true, 1, NULL, 0);
	emit_cut_end(s);
}

static void a_word_has_no_space_and_no_control(void **state)
{
	static const struct text_swap swaps[] = { { ';', ':' }, { '#', ' ' } };
	static const struct {
		const char *in, *word;
	} cases[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "a b\tc\r\n", "a_b_c__" },
		{ "a;b#c", "a:b_c" },
		{ "f\xc3\xbcr", "f\xc3\xbcr" },
		{ "\x1b[31mred", "\\x1b[31mred" },
		{ "\xff\xc2\x9b"
		  "2J\xe2\x80\xa8",
		  "\\xff\\u{9b}2J\\u{2028}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf word = { 0 };

		text_word(&word, cases[i].in, swaps, sizeof(swaps) / sizeof(swaps[0]));
		assert_string_equal(strbuf_str(&word), cases[i].word);
	}
}

static void collapsed_frames_keep_blanks_that_are_no_end_of_a_stack(void **state)
{
	static const char *const cases[][2] = {
		{ "operator new(unsigned long)", "operator new(unsigned long)" },
		{ "f<1, 2>", "f<1, 2>" },
		{ "a;b\tc d", "a:b_c d" },
		{ "part 12", "part_12" },
		{ "part 1 2.5", "part 1_2.5" },
		{ "end ", "end_" },
		{ " ", "_" },
		{ "12", "12" },
		{ "", "" },
		{ "\x1b f", "\\x1b f" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf frame = { 0 };

		text_folded(&frame, cases[i][0]);
		assert_string_equal(strbuf_str(&frame), cases[i][1]);
	}
}

static void text_in_xml_is_escaped_and_allowed(void **state)
{
	static const struct {
		const char *in, *expected;
	} cases[] = {
		{ "plain", "plain" },
		{ "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;" },
		{ "]]>", "]]&gt;" },
		{ "\x01\x1b", "\\x01\\x1b" },
		{ "\xff", "\\xff" },
		{ "\xef\xbf\xbe\xef\xbf\xbf", "\\u{fffe}\\u{ffff}" },
		{ "\xef\xbf\xbd", "\xef\xbf\xbd" },
		{ "\xc3\xbc", "\xc3\xbc" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		text_xml(&out, cases[i].in);
		assert_string_equal(strbuf_str(&out), cases[i].expected);
	}
}

static void digits_are_grouped_by_thousands(void **state)
{
	static const struct {
		uint64_t number;
		const char *expected;
	} cases[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 123456, "123,456" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		text_grouped(&out, cases[i].number);
		assert_string_equal(strbuf_str(&out), cases[i].expected);
	}
}

static void long_text_loses_its_middle(void **state)
{
	static const struct {
		const char *in;
		size_t columns;
		const char *expected;
	} cases[] = {
		{ "12345", 5, "12345" },
		{ "123456", 5,
		  "12\xe2\x80\xa6"
		  "56" },
		{ "1234567", 6,
		  "123\xe2\x80\xa6"
		  "67" },
		{ "1234567", 3,
		  "1\xe2\x80\xa6"
		  "7" },
		{ "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 4, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f" },
		{ "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 3, "\xc3\xa4\xe2\x80\xa6\xc3\x9f" },
		{ "", 3, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		text_fit(&out, cases[i].in, cases[i].columns);
		assert_string_equal(strbuf_str(&out), cases[i].expected);
		assert_true(text_columns(strbuf_str(&out)) <= cases[i].columns);
	}
}

static void long_functions_lose_their_parameters_first_and_their_scope_then(void **state)
{
	static const struct {
		const char *in;
		size_t columns;
		const char *expected;
	} cases[] = {
		{ "ns::f(int, long)", 16, "ns::f(int, long)" },
		{ "ns::f(int, long)", 15, "ns::f(\xe2\x80\xa6)" },
		{ "ns::f(int, long) const", 8, "ns::f(\xe2\x80\xa6)" },
		{ "ns::f(int, long)", 6, "ns::f" },
		{ "ns::Table<a::b>::find(int)", 8,
		  "\xe2\x80\xa6"
		  ">::find" },
		{ "f(int)::A::g(long)", 15, "f(int)::A::g(\xe2\x80\xa6)" },
		{ "main.function", 6,
		  "mai\xe2\x80\xa6"
		  "on" },
		{ "", 3, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		text_fit_function(&out, cases[i].in, cases[i].columns);
		assert_string_equal(strbuf_str(&out), cases[i].expected);
	}
}

static void a_line_is_worth_more_than_a_long_name_and_an_object_less(void **state)
{
	static const struct {
		const char *function, *where;
		size_t columns;
		const char *expected;
	} cases[] = {
		{ "createStringObject", "(redis-check-rdb)", 37,
		  "createStringObject  (redis-check-rdb)" },
		{ "createStringObject", "(redis-check-rdb)", 32,
		  "createStringObject  (redis…-rdb)" },
		{ "createStringObject", "(redis-check-rdb)", 31, "createStringObject" },
		{ "createStringObject", "(a)", 24, "createStringObject  (a)" },
		{ "createStringObject", "(redis-check-rdb)", 24, "createStringObject" },
		{ "createStringObject", "(redis-check-rdb)", 15, "createS…gObject" },
		{ "ns::f(int, long)", "(libns.so)", 20, "ns::f(…)  (libns.so)" },
		{ "createStringObject", "object.c:45", 31, "createStringObject  object.c:45" },
		{ "createStringObject", "object.c:45", 27, "createS…Object  object.c:45" },
		{ "f", "hashtable_policy.h:127", 25, "f  hashtable_policy.h:127" },
		{ "createStringObject", "hashtable_policy.h:127", 27,
		  "create…Object  hashta…h:127" },
		{ "createStringObject", "hashtable_policy.h:127", 40,
		  "createSt…gObject  hashtable_policy.h:127" },
		{ "f", "", 3, "f" },
		{ "main", "main.c:7", 9, "main" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		text_fit_place(&out, cases[i].function, cases[i].where, false, cases[i].columns);
		assert_string_equal(strbuf_str(&out), cases[i].expected);
		assert_true(text_columns(strbuf_str(&out)) <= cases[i].columns);
	}
}

static void wrapped_lines_keep_to_the_width(void **state)
{
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	text_wrap(&out,
		  "  one two three four \xe2\x89\xa5"
		  "five",
		  12, 4);
	assert_string_equal(strbuf_str(&out), "  one two\n    three\n    four\n    \xe2\x89\xa5"
					      "five\n");
}

static void folded_names_cannot_be_taken_for_structure(void **state)
{
	static const struct {
		const char *comm, *path, *function, *expected;
	} cases[] = {
		{ "server", APP, "main", "server-42;main 64\n" },
		{ "my app 1", APP, "f(int, char) 10", "my app_1-42;f(int, char)_10 64\n" },
		{ "a;b", APP, "x;y\nz", "a:b-42;x:y_z 64\n" },
		{ "server", "/lib/libfoo.so", NULL, "server-42;[libfoo.so] 64\n" },
		{ "server", "/lib/my lib;1.so", NULL, "server-42;[my lib:1.so] 64\n" },
		{ "server", "[vdso]", NULL, "server-42;[vdso] 64\n" },
		{ "", APP, "", "unknown-42;[server] 64\n" },
		{ "\x1b[2J", APP, "\x1b]0;title", "\\x1b[2J-42;\\x1b]0:title 64\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *text = NULL;
		struct fixture f;

		one_site(&f, cases[i].comm, cases[i].path, cases[i].function);
		text = fixture_report(&f, "folded", NULL);
		assert_string_equal(text, cases[i].expected);
		fixture_done(&f);
	}
}

static void folded_merges_lines_and_counts_what_was_asked_for(void **state)
{
	static const struct {
		enum option_sort sort;
		const char *expected;
	} cases[] = {
		{ SORT_BYTES, "server-42;main 96\n" },	  { SORT_COUNT, "server-42;main 96\n" },
		{ SORT_GROWTH, "server-42;main 96\n" },	  { SORT_PEAK, "server-42;main 1100\n" },
		{ SORT_TEMPORARY, "server-42;main 7\n" },
	};
	struct fixture f;
	const struct script *s = &f.script;

	(void)state;
	one_site(&f, "server", APP, "main");
	emit_stack(s, 72, 0, 2000, 0x10124);
	emit_stack(s, 73, 0, 2000, 0x10125);
	emit_symbol(s, APP, 11, 0x1124, { "main", 0x1a, NULL, 0, false });
	emit_symbol(s, APP, 11, 0x1125, { "dead", 0x1b, NULL, 0, false });
	emit_cut(s, 9500);
	emit_site(s, (struct record_site){
			     .stack = 71, .live_bytes = 64, .live_blocks = 1, .peak_bytes = 100 });
	emit_site(s, (struct record_site){ .stack = 72,
					   .live_bytes = 32,
					   .live_blocks = 1,
					   .peak_bytes = 1000,
					   .temporary = 7 });
	emit_site(s, (struct record_site){ .stack = 73 });
	emit_cut_end(s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct report_opts opts = { .sort = cases[i].sort };
		_cleanup_free_ char *text = fixture_report(&f, "folded", &opts);

		assert_string_equal(text, cases[i].expected);
	}
	fixture_done(&f);
}

static void perf_script_names_survive_its_readers(void **state)
{
	static const struct {
		const char *comm, *path, *function, *header, *frame;
	} cases[] = {
		{ "server", APP, "main", "server 42/42 ", " main+0x19 (/opt/demo/server)\n" },
		{ "x", APP, "main", "x_ 42/42 ", " main+0x19 (/opt/demo/server)\n" },
		{ "", APP, "main", "__ 42/42 ", " main+0x19 (/opt/demo/server)\n" },
		{ "  my app 1 ", APP, "main", "my_app_1 42/42 ",
		  " main+0x19 (/opt/demo/server)\n" },
		{ "#hash", APP, "main", "_hash 42/42 ", " main+0x19 (/opt/demo/server)\n" },
		{ "a\nb", APP, "main", "a_b 42/42 ", " main+0x19 (/opt/demo/server)\n" },
		{ "server", APP, NULL, "server 42/42 ", " [unknown] (/opt/demo/server)\n" },
		{ "server", "/opt/my demo/server (deleted)", NULL, "server 42/42 ",
		  " [unknown] (/opt/my_demo/server)\n" },
		{ "server", "/opt/demo/server (deleted)", "main", "server 42/42 ",
		  " main+0x19 (/opt/demo/server)\n" },
		{ "server", "//anon", NULL, "server 42/42 ", " [unknown] ([anon])\n" },
		{ "server", "[vdso]", NULL, "server 42/42 ", " [unknown] ([vdso])\n" },
		{ "server", APP, "(anonymous namespace)::f()", "server 42/42 ",
		  " {anonymous}::f()+0x19 (/opt/demo/server)\n" },
		{ "server", APP, "(odd)", "server 42/42 ", " {odd)+0x19 (/opt/demo/server)\n" },
		{ "server", APP, "P::operator->() const", "server 42/42 ",
		  " P::operator=>() const+0x19 (/opt/demo/server)\n" },
		{ "server", APP, "a;b", "server 42/42 ", " a:b+0x19 (/opt/demo/server)\n" },
		{ "server", APP, "a\n\tb", "server 42/42 ",
		  " a\\x0a\\x09b+0x19 (/opt/demo/server)\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *text = NULL;
		const char *header, *frame;
		struct fixture f;

		one_site(&f, cases[i].comm, cases[i].path, cases[i].function);
		text = fixture_report(&f, "perf-script", NULL);
		assert_int_equal(text[0], '#');
		header = strchr(text, '\n') + 1;
		assert_memory_equal(header, cases[i].header, strlen(cases[i].header));
		frame = strchr(header, '\n') + 1;
		assert_int_equal(frame[0], '\t');
		frame += 1 + strspn(frame + 1, " ");
		frame += strspn(frame, "0123456789abcdef");
		assert_string_equal(frame + strlen(cases[i].frame), "\n");
		assert_memory_equal(frame, cases[i].frame, strlen(cases[i].frame));
		fixture_done(&f);
	}
}

static void perf_script_event_is_exactly_that(void **state)
{
	struct fixture f;
	_cleanup_free_ char *text = NULL;

	(void)state;
	one_site(&f, "server", APP, "main");
	/* A second one, of which nothing else is known, and one that holds nothing. */
	emit_cut(&f.script, 12000345678000);
	emit_site(&f.script,
		  (struct record_site){
			  .image = { 0 }, .stack = 71, .live_bytes = 64, .live_blocks = 1 });
	emit_site(&f.script,
		  (struct record_site){
			  .image = { 0 }, .stack = 72, .live_bytes = 3, .live_blocks = 1 });
	emit_site(&f.script,
		  (struct record_site){ .image = { 0 }, .stack = 73, .allocs = 9, .fn = 5 });
	emit_cut_end(&f.script);
	text = fixture_report(&f, "perf-script", NULL);
	assert_string_equal(text,
			    "# memtraced 0.1.0: one event per site of the heap, its live bytes as "
			    "the period; not of mappings\n"
			    "server 42/42 [000] 12000.345678:         64 memtraced-live-bytes: \n"
			    "\t            2123 main+0x19 (/opt/demo/server)\n"
			    "\n"
			    "server 42/42 [000] 12000.345679:          3 memtraced-live-bytes: \n"
			    "\t               0 [stack-lost] ([unknown])\n"
			    "\n");
	fixture_done(&f);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

static struct json_object *element(struct json_object *object, const char *table,
				   struct json_object *index)
{
	return json_object_array_get_idx(member(object, table),
					 (size_t)json_object_get_int64(index));
}

static void json_is_one_line_that_parses_whatever_the_names(void **state)
{
	static const char *const names[] = { "main", "\x1b[2J", "\xff\xc3(", "a\"b\\c\n", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_free_ char *text = NULL;
		struct json_object *json, *process, *site, *stack, *frame, *function;
		_cleanup_strbuf_ struct strbuf expected = { 0 };
		struct fixture f;

		one_site(&f, names[i], APP, names[i]);
		text = fixture_report(&f, "json", NULL);
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		json = json_tokener_parse(text);
		assert_non_null(json);
		escape_invalid(&expected, names[i]);
		process = json_object_array_get_idx(member(json, "processes"), 0);
		assert_string_equal(json_object_get_string(member(process, "comm")),
				    strbuf_str(&expected));
		site = json_object_array_get_idx(member(process, "sites"), 0);
		stack = element(json, "stacks", member(site, "stack_id"));
		frame = element(json, "frames", json_object_array_get_idx(stack, 0));
		assert_null(json_object_array_get_idx(stack, 1));
		function = element(json, "functions", member(frame, "function"));
		assert_string_equal(json_object_get_string(member(function, "function")),
				    strbuf_str(&expected));
		assert_string_equal(json_object_get_string(member(frame, "addr")), "0x10123");
		json_object_put(json);
		fixture_done(&f);
	}
}

static void json_end_says_how_the_process_ended(void **state)
{
	static const struct {
		bool ended;
		enum record_end how;
		int value;
		const char *expected;
	} cases[] = {
		{ false, RECORD_END_EXIT, 0, "\"end\":null," },
		{ true, RECORD_END_EXIT, 3, "\"end\":{\"exit\":3,\"signal\":null,\"oom\":false}," },
		{ true, RECORD_END_SIGNAL, 9,
		  "\"end\":{\"exit\":null,\"signal\":9,\"oom\":false}," },
		{ true, RECORD_END_EXEC, 0,
		  "\"end\":{\"exit\":null,\"signal\":null,\"oom\":false}," },
		{ true, RECORD_END_UNKNOWN, 0,
		  "\"end\":{\"exit\":null,\"signal\":null,\"oom\":false}," },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *text = NULL;
		struct fixture f;

		one_site(&f, "server", APP, "main");
		if (cases[i].ended)
			emit_end(&f.script, 0, cases[i].how, cases[i].value, 9500);
		text = fixture_report(&f, "json", NULL);
		assert_non_null(strstr(text, cases[i].expected));
		fixture_done(&f);
	}
}

static void table_marks_what_is_not_exact(void **state)
{
	static const struct {
		bool exact;
		const char *has, *has_not;
	} cases[] = {
		{ true, "none lost: totals are exact", "NOT EXACT" },
		{ true, "heap: 64 B live", "~" },
		{ false, "NOT EXACT: 5 lost (ring-full 5)", "totals are exact" },
		{ false, "heap: ~64 B live", "heap: 64 B live" },
		{ false, "≥1 allocation of ≥0 B", " 1 allocation" },
		{ false, "#1  ~64 B live, ~100.0%", "#1  64 B" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct record_loss loss = { "ring-full", 5 };
		_cleanup_free_ char *text = NULL;
		struct fixture f;

		one_site(&f, "server", APP, "main");
		if (!cases[i].exact) {
			emit_cut(&f.script, 9500);
			emit_coverage(&f.script, false, 10, &loss, 1);
			emit_cut_end(&f.script);
		}
		text = fixture_report(&f, "table", NULL);
		if (!strstr(text, cases[i].has) || strstr(text, cases[i].has_not))
			fail_msg("%s / %s in:\n%s", cases[i].has, cases[i].has_not, text);
		fixture_done(&f);
	}
}

static void a_table_of_a_run_that_counted_nothing_says_so_and_has_no_numbers(void **state)
{
	const struct record_loss loss = { RECORD_CAUSE_FLOOR, 1 };
	_cleanup_free_ char *text = NULL;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	emit_run(&f.script);
	emit_begin(&f.script, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_cut(&f.script, 9500);
	emit_coverage(&f.script, false, 0, &loss, 1);
	emit_cut_end(&f.script);
	text = fixture_report(&f, "table", NULL);
	assert_non_null(strstr(text, "heap: not counted\n"));
	assert_non_null(strstr(text, "NOTHING WAS COUNTED"));
	assert_null(strstr(text, "live"));
	assert_null(strstr(text, "events seen"));
	assert_null(strstr(text, "stacks:"));
	fixture_done(&f);
}

static void table_has_no_escape_but_its_own_and_keeps_to_its_width(void **state)
{
	static char long_name[600];
	_cleanup_free_ char *plain = NULL, *color = NULL;
	struct fixture f;

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	memcpy(long_name, "\x1b[31m", 5);
	one_site(&f, long_name, long_name, long_name);
	plain = fixture_report(&f, "table", NULL);
	assert_null(strchr(plain, '\x1b'));
	for (char *line = plain, *next; *line; line = next + 1) {
		next = strchr(line, '\n');
		*next = '\0';
		assert_true(text_columns(line) <= 80);
	}
	color = fixture_report(&f, "table", &(struct report_opts){ .color = true });
	assert_non_null(strstr(color, "\x1b[1m"));
	assert_null(strstr(color, "\x1b[31m"));
	fixture_done(&f);
}

static void table_says_what_it_does_not_show(void **state)
{
	struct fixture f;
	const struct script *s = &f.script;
	_cleanup_free_ char *all = NULL, *top = NULL;
	const struct report_opts opts = { .top = 2 };

	(void)state;
	one_site(&f, "server", APP, "main");
	for (uint64_t i = 0; i < 5; i++)
		emit_stack(s, i, 0, 2000, 0x10200 + i);
	emit_cut(s, 9500);
	for (uint64_t i = 0; i < 5; i++)
		emit_site(s, (struct record_site){ .stack = i,
						   .live_bytes = 10 * (int64_t)i,
						   .live_blocks = i > 0 });
	emit_cut_end(s);
	all = fixture_report(&f, "table", NULL);
	assert_non_null(strstr(all, "#4"));
	assert_null(strstr(all, "--top"));
	assert_non_null(strstr(all, "1 more site with nothing live"));
	top = fixture_report(&f, "table", &opts);
	assert_null(strstr(top, "#3"));
	assert_non_null(strstr(top, "2 more sites, 30 B live; --top 0 shows all"));
	fixture_done(&f);
}

static void a_class_without_a_site_to_show_has_no_line_of_its_own(void **state)
{
	static const struct {
		uint64_t live_bytes;
		const char *there, *not_there;
	} cases[] = {
		{ 64, "… 1 more site with nothing live\n\ncoverage", NULL },
		{ 0, "… 2 sites with nothing live\n\ncoverage", "more site" },
	};
	struct fixture f;
	const struct script *s = &f.script;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *text = NULL;

		one_site(&f, "server", APP, "main");
		emit_stack(s, 72, 0, 2000, 0x10124);
		emit_stack(s, 73, 0, 2000, 0x10125);
		emit_region(s, 0, 0x70000000, 0x70001000, 1, 73, 2000);
		emit_region_gone(s, 0, 0x70000000, 0x70001000, 3000);
		emit_cut(s, 9500);
		emit_site(s, (struct record_site){ .stack = 71,
						   .live_bytes = cases[i].live_bytes,
						   .live_blocks = cases[i].live_bytes > 0,
						   .allocs = 1 });
		emit_site(s, (struct record_site){ .stack = 72, .allocs = 1 });
		emit_cut_end(s);
		text = fixture_report(&f, "table", NULL);
		assert_non_null(strstr(text, cases[i].there));
		if (cases[i].not_there)
			assert_null(strstr(text, cases[i].not_there));
		fixture_done(&f);
	}
}

static void unknown_format_is_explained(void **state)
{
	static const struct {
		const char *name, *hint;
	} cases[] = {
		{ "jsn", "did you mean 'json'?" },
		{ "recrod", "did you mean 'record'?" },
		{ "perf-scrip", "did you mean 'perf-script'?" },
		{ "xyzzy",
		  "unknown format 'xyzzy'; formats are: table json html folded flamegraph "
		  "perf-script perf-data gprof2dot pprof speedscope callgrind massif heaptrack "
		  "dhat prometheus openmetrics, and record (-o only)" },
		{ "\x1b[2J", "unknown format '\\x1b[2J'; " },
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };

		assert_null(report_format_find(cases[i].name));
		report_format_unknown(cases[i].name, &error);
		assert_non_null(strstr(strbuf_str(&error), cases[i].hint));
	}
	fixture_init(&f);
	assert_int_equal(report_write("jsn", fixture_view(&f, NULL), stdout), -ENOENT);
	fixture_done(&f);
}

static void full_disk_is_an_error_in_every_format(void **state)
{
	size_t n;
	const struct report_format *formats = report_formats(&n);
	struct fixture f;

	(void)state;
	one_site(&f, "server", APP, "main");
	for (size_t i = 0; i < n; i++) {
		_cleanup_fclose_ FILE *file = fopen("/dev/full", "w");

		assert_non_null(file);
		setvbuf(file, NULL, _IONBF, 0);
		assert_int_equal(
			report_format_write(&formats[i], fixture_view(&f, NULL), NULL, file), -EIO);
	}
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_has_no_space_and_no_control),
		cmocka_unit_test(collapsed_frames_keep_blanks_that_are_no_end_of_a_stack),
		cmocka_unit_test(text_in_xml_is_escaped_and_allowed),
		cmocka_unit_test(digits_are_grouped_by_thousands),
		cmocka_unit_test(long_text_loses_its_middle),
		cmocka_unit_test(long_functions_lose_their_parameters_first_and_their_scope_then),
		cmocka_unit_test(a_line_is_worth_more_than_a_long_name_and_an_object_less),
		cmocka_unit_test(wrapped_lines_keep_to_the_width),
		cmocka_unit_test(folded_names_cannot_be_taken_for_structure),
		cmocka_unit_test(folded_merges_lines_and_counts_what_was_asked_for),
		cmocka_unit_test(perf_script_names_survive_its_readers),
		cmocka_unit_test(perf_script_event_is_exactly_that),
		cmocka_unit_test(json_is_one_line_that_parses_whatever_the_names),
		cmocka_unit_test(json_end_says_how_the_process_ended),
		cmocka_unit_test(table_marks_what_is_not_exact),
		cmocka_unit_test(a_table_of_a_run_that_counted_nothing_says_so_and_has_no_numbers),
		cmocka_unit_test(table_has_no_escape_but_its_own_and_keeps_to_its_width),
		cmocka_unit_test(table_says_what_it_does_not_show),
		cmocka_unit_test(a_class_without_a_site_to_show_has_no_line_of_its_own),
		cmocka_unit_test(unknown_format_is_explained),
		cmocka_unit_test(full_disk_is_an_error_in_every_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
