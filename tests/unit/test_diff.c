/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/diff/diff.h"

#include "base/saturate.h"
#include "config/where.h"
#include "probe/program_kinds.h"
#include "report/diff/diff_keys.h"
#include "report/writers.h"
#include "tests/report_fixture.h"

#include <string.h>

/* One site of one process: caller and its object, and what it holds. */
struct line {
	const char *comm, *exe, *function, *object;
	int64_t live;
	uint64_t offset; /* of the call, in the object's file */
	uint8_t build;	 /* first byte of the object's build ID; 0: none is known */
	const char *file;
	const char *inlined; /* a function in `function` */
	bool not_root;
};

#define PROGRAM "/opt/demo/server"

static void emit_line(const struct script *s, const struct line *line, uint32_t slot)
{
	const char *exe = line->exe ? line->exe : PROGRAM;
	const char *object = line->object ? line->object : exe;
	uint64_t start = 0x10000 + (uint64_t)slot * 0x100000, offset = line->offset + 0x1123;
	struct record_symbol_frame frames[] = {
		{ .function = line->inlined, .file = line->file, .line = 3, .is_inline = true },
		{ .function = line->function, .file = line->file, .line = line->file ? 9 : 0 },
	};
	struct record mapping = { .type = RECORD_MAPPING,
				  .mapping = { .image = { slot },
					       .start = start,
					       .end = start + 0x10000,
					       .file_offset = 0x1000,
					       .time_ns = 1000,
					       .dev = 8,
					       .ino = 11 + slot,
					       .path = object,
					       .executable = true } };

	emit(s, &(struct record){ .type = RECORD_PROCESS,
				  .process = { .image = { slot },
					       .pid = 100 + slot,
					       .parent_image = RECORD_NO_IMAGE,
					       .prev_image = RECORD_NO_IMAGE,
					       .root = !line->not_root,
					       .time_ns = 1000,
					       .comm = line->comm ? line->comm : "server",
					       .exe = exe } });
	if (line->build) {
		mapping.mapping.build_id[0] = line->build;
		mapping.mapping.build_id_len = 20;
	}
	emit(s, &mapping);
	emit_stack(s, 70 + slot, slot, 2000, start + 0x123 + line->offset);
	if (line->inlined)
		emit_symbol_of(s, object, 11 + slot, offset, frames, 2);
	else
		emit_symbol_of(s, object, 11 + slot, offset, frames + 1, 1);
}

/* A run of such processes, up to one without a live byte. */
static void run_of(struct fixture *f, const struct line *lines)
{
	const struct script *s = &f->script;
	uint64_t allocs = 0;

	fixture_init(f);
	emit_run(s);
	emit_function(s, 5, "malloc", "/lib/libc.so.6", 0x1040);
	for (uint32_t i = 0; lines[i].live; i++)
		emit_line(s, &lines[i], i);
	emit_cut(s, 9000);
	for (uint32_t i = 0; lines[i].live; i++) {
		emit_site(s, (struct record_site){ .image = { i },
						   .fn = 5,
						   .stack = 70 + i,
						   .live_bytes = lines[i].live,
						   .live_blocks = 1,
						   .allocs = 2 });
		emit_totals(s, (struct record_totals){ .image = { i },
						       .allocs = 2,
						       .live_bytes = lines[i].live,
						       .live_blocks = 1 });
		allocs += 2;
	}
	emit_coverage(s, true, allocs, NULL, 0);
	emit_cut_end(s);
}

struct pair {
	struct fixture before, after;
	struct diff *diff;
};

static void diff_of(struct pair *pair, const struct report_opts *opts)
{
	static const struct report_opts everything = { 0 };
	struct diff_run runs[DIFF_SIDES] = { { .path = "a" }, { .path = "b" } };

	runs[DIFF_BEFORE].view = fixture_view(&pair->before, &everything);
	runs[DIFF_AFTER].view = fixture_view(&pair->after, &everything);
	assert_int_equal(diff_new(runs, opts, &pair->diff), 0);
}

static void pair_of(struct pair *pair, const struct line *before, const struct line *after,
		    const struct report_opts *opts)
{
	run_of(&pair->before, before);
	run_of(&pair->after, after);
	diff_of(pair, opts);
}

static char *diff_text(const struct pair *pair, int (*write)(const struct diff *diff, FILE *file))
{
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	assert_non_null(file);
	assert_int_equal(write(pair->diff, file), 0);
	assert_int_equal(fclose(file), 0);
	return text;
}

static void pair_done(struct pair *pair)
{
	diff_free(pair->diff);
	fixture_done(&pair->before);
	fixture_done(&pair->after);
}

/* "server: 64>128 0>5; other: ..." of all programs and sites. */
static void expect_diff(size_t number, const struct line *before, const struct line *after,
			const struct report_opts *opts, const char *expected)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct pair pair = { 0 };

	pair_of(&pair, before, after, opts);
	for (size_t i = 0; i < pair.diff->programs.len; i++) {
		const struct diff_program *program = &pair.diff->programs.data[i];

		strbuf_addf(&text, "%s%s:", i ? "; " : "", program->name);
		for (size_t j = 0; j < program->n_sites; j++) {
			const struct diff_site *site = &pair.diff->sites.data[program->first + j];

			strbuf_addf(&text, " %lld>%lld", (long long)site->sides[0].live_bytes,
				    (long long)site->sides[1].live_bytes);
		}
	}
	if (strcmp(strbuf_str(&text), expected) != 0)
		fail_msg("case %zu: '%s', not '%s'", number, strbuf_str(&text), expected);
	pair_done(&pair);
}

static void sites_are_the_same_by_function_and_object(void **state)
{
	static const struct {
		struct line before[3], after[3];
		const char *expected;
	} cases[] = {
		{ { { .function = "f", .live = 64 } },
		  { { .function = "f", .live = 128, .offset = 0x500 } },
		  "server: 64>128" },
		{ { { .function = "f", .live = 64 } },
		  { { .function = "g", .live = 128 } },
		  "server: 0>128 64>0" },
		/* Builds: hashes, clones, versions of libraries, the place of the program. */
		{ { { .function = "a::f::h0123456789abcdef", .live = 1 } },
		  { { .function = "a::f::hffffffffffffffff", .live = 2 } },
		  "server: 1>2" },
		{ { { .function = "f.isra.0.cold", .live = 1 } },
		  { { .function = "f", .live = 2 } },
		  "server: 1>2" },
		{ { { .function = "f", .object = "/lib/libx.so.1.2", .live = 1 } },
		  { { .function = "f", .object = "/opt/libx.so.2", .live = 2 } },
		  "server: 1>2" },
		{ { { .function = "f", .object = "/lib/libx.so", .live = 1 } },
		  { { .function = "f", .object = "/lib/liby.so", .live = 3 } },
		  "server: 0>3 1>0" },
		{ { { .function = "f", .exe = "/old/server", .live = 1 } },
		  { { .function = "f", .exe = "/new/server (deleted)", .live = 2 } },
		  "server: 1>2" },
		/* Several places of a function are one. */
		{ { { .function = "f", .live = 1 }, { .function = "f", .live = 2, .offset = 9 } },
		  { { .function = "f", .live = 4 } },
		  "server: 3>4" },
		/* Without names: by offset in the same build, else by object. */
		{ { { .live = 1, .build = 7 }, { .live = 2, .build = 7, .offset = 0x40 } },
		  { { .live = 9, .build = 7 } },
		  "server: 1>9 2>0" },
		{ { { .live = 1, .build = 7 }, { .live = 2, .build = 7, .offset = 0x40 } },
		  { { .live = 9, .build = 8, .offset = 0x20 } },
		  "server: 3>9" },
		/* Inlined functions count where both runs know lines. */
		{ { { .function = "f", .inlined = "g", .file = "f.c", .live = 1 } },
		  { { .function = "f", .inlined = "g", .file = "f.c", .live = 2 } },
		  "server: 1>2" },
		{ { { .function = "f", .inlined = "g", .file = "f.c", .live = 1 } },
		  { { .function = "f", .file = "f.c", .live = 3 } },
		  "server: 0>3 1>0" },
		{ { { .function = "f", .inlined = "g", .file = "f.c", .live = 1 } },
		  { { .function = "f", .live = 3 } },
		  "server: 1>3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_diff(i, cases[i].before, cases[i].after, &(struct report_opts){ 0 },
			    cases[i].expected);
}

static void processes_are_the_same_by_name_and_executable(void **state)
{
#define CHILD .function = "f", .not_root = true
	static const struct {
		struct line before[3], after[3];
		const char *expected;
	} cases[] = {
		/* Those of a name are one program, whatever their number. */
		{ { { .function = "f", .live = 1 }, { .function = "f", .live = 2 } },
		  { { .function = "f", .live = 8 } },
		  "server: 3>8" },
		{ { { .function = "f", .live = 1 } },
		  { { .function = "f", .live = 2 }, { .comm = "w", .live = 4, CHILD } },
		  "server: 1>2; w: 0>4" },
		/* What was traced is the same under another name, and its children are. */
		{ { { .function = "f", .comm = "old", .exe = "/b/old", .live = 1 } },
		  { { .function = "f", .comm = "new", .exe = "/b/new", .live = 2 } },
		  "old → new: 1>2" },
		{ { { .function = "f", .comm = "old", .exe = "/b/old", .live = 1 },
		    { .comm = "old", .exe = "/b/old", .live = 4, CHILD } },
		  { { .function = "f", .comm = "new", .exe = "/b/new", .live = 2 } },
		  "old → new: 5>2" },
		/* But not where both are known to the other run, or where there are several. */
		{ { { .function = "f", .comm = "a", .exe = "/b/a", .live = 1 } },
		  { { .function = "f", .comm = "b", .exe = "/b/b", .live = 2 },
		    { .comm = "a", .exe = "/b/a", .live = 4, CHILD } },
		  "b: 0>2; a: 1>4" },
		{ { { .function = "f", .comm = "a", .exe = "/b/a", .live = 1 } },
		  { { .function = "f", .comm = "b", .exe = "/b/b", .live = 2 },
		    { .function = "f", .comm = "c", .exe = "/b/c", .live = 4 } },
		  "b: 0>2; c: 0>4; a: 1>0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_diff(i, cases[i].before, cases[i].after, &(struct report_opts){ 0 },
			    cases[i].expected);
}

static void what_has_changed_most_comes_first(void **state)
{
	static const struct line before[] = { { .function = "f", .live = 100 },
					      { .function = "g", .live = 5 },
					      { .function = "h", .live = 7 },
					      { 0 } };
	static const struct line after[] = { { .function = "f", .live = 1 },
					     { .function = "g", .live = 50 },
					     { .function = "h", .live = 7 },
					     { 0 } };

	(void)state;
	expect_diff(0, before, after, &(struct report_opts){ .sort = SORT_BYTES },
		    "server: 100>1 5>50 7>7");
	/* Blocks are the same: bytes decide. */
	expect_diff(1, before, after, &(struct report_opts){ .sort = SORT_COUNT },
		    "server: 100>1 5>50 7>7");
}

static void what_one_run_does_not_know_is_no_change(void **state)
{
	static const struct report_opts opts = { .sort = SORT_TEMPORARY };
	struct pair pair = { 0 };

	(void)state;
	fixture_init(&pair.before);
	fixture_init(&pair.after);
	emit_run(&pair.before.script);
	emit(&pair.after.script,
	     &(struct record){
		     .type = RECORD_RUN,
		     .run = { .tool = "memtraced", .kernel = "6.1.0", .sampled = true } });
	fixture_view(&pair.before, &opts);
	fixture_view(&pair.after, &opts);
	assert_int_equal(diff_new((struct diff_run[]){ { .view = pair.before.view },
						       { .view = pair.after.view } },
				  &opts, &pair.diff),
			 0);
	assert_int_equal(pair.diff->opts.sort, SORT_BYTES);
	pair_done(&pair);
}

static void a_filter_keeps_both_sides_of_what_passes_on_one(void **state)
{
	static const struct line before[] = { { .function = "f", .live = 100 },
					      { .function = "g", .live = 5 },
					      { 0 } };
	static const struct line after[] = { { .function = "f", .live = 1 },
					     { .function = "g", .live = 6 },
					     { 0 } };
	_cleanup_(where_free_p) struct where *where = NULL;
	_cleanup_strbuf_ struct strbuf error = { 0 };
	struct pair pair = { 0 };

	(void)state;
	assert_int_equal(where_parse("live >= 50", &where, &error), 0);
	expect_diff(0, before, after, &(struct report_opts){ .where = where }, "server: 100>1");
	pair_of(&pair, before, after, &(struct report_opts){ .where = where });
	assert_int_equal(pair.diff->programs.data[0].n_left_out, 1);
	assert_int_equal(pair.diff->programs.data[0].left_out_bytes, 1);
	assert_int_equal(pair.diff->programs.data[0].heap[DIFF_AFTER].live_bytes, 7);
	assert_int_equal(pair.diff->members.len, 2);
	pair_done(&pair);
}

static void names_lose_what_a_build_adds(void **state)
{
	static const struct {
		const char *in, *out;
	} functions[] = {
		{ "", "" },
		{ "main", "main" },
		{ ".cold", ".cold" },
		{ "f.part.0", "f" },
		{ "f.part.0.constprop.12.isra.3", "f" },
		{ "f.llvm.1234567", "f" },
		{ "f.lto_priv.0.lto_priv.1", "f" },
		{ "main.load", "main.load" }, /* Go's */
		{ "f.coldest", "f.coldest" },
		{ "x::f() [clone .cold]", "x::f()" },
		{ "x::f(int) [clone .isra.0] [clone .cold]", "x::f(int)" },
		{ "a::f::h0123456789abcdef", "a::f" },
		{ "a::f::h0123456789abcdeg", "a::f::h0123456789abcdeg" },
		{ "::h0123456789abcdef", "::h0123456789abcdef" },
		{ "a::h0123", "a::h0123" },
	};
	static const struct {
		const char *in, *out;
	} objects[] = {
		{ "/lib/libc.so.6", "libc.so" }, { "/lib/libx.so.1.2.3 (deleted)", "libx.so" },
		{ "/opt/prog", "prog" },	 { "/opt/prog (deleted)", "prog" },
		{ "[vdso]", "[vdso]" },		 { "libx-2.so", "libx-2.so" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		diff_function_name(functions[i].in, &out);
		assert_string_equal(strbuf_str(&out), functions[i].out);
	}
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		diff_object_name(objects[i].in, &out);
		assert_string_equal(strbuf_str(&out), objects[i].out);
	}
}

static void emit_kind(const struct script *s, enum program_kind kind)
{
	emit(s, &(struct record){ .type = RECORD_MAPPING,
				  .mapping = { .start = 0x700000,
					       .end = 0x701000,
					       .path = "/usr/bin/other",
					       .executable = true,
					       .kind = kind } });
}

/* A program may have been rewritten. */
static void what_is_not_seen_of_either_run_is_said(void **state)
{
	const struct line lines[] = { { .live = 64 }, { 0 } };
	_cleanup_free_ char *table = NULL, *json = NULL;
	struct pair pair = { 0 };

	(void)state;
	run_of(&pair.before, lines);
	run_of(&pair.after, lines);
	emit_kind(&pair.before.script, PROGRAM_PYTHON);
	emit_kind(&pair.after.script, PROGRAM_PYTHON);
	emit_kind(&pair.after.script, PROGRAM_GO);
	diff_of(&pair, &(struct report_opts){ 0 });
	table = diff_text(&pair, diff_table_write);
	assert_non_null(strstr(table, "\n\nserver (pid 100): Go; "));
	assert_non_null(strstr(table, "\nserver (pid 100), server (pid 100): Python; "));
	json = diff_text(&pair, diff_json_write);
	assert_non_null(strstr(json, "\"notes\":[{\"program\":\"python\""));
	assert_non_null(strstr(json, "\"notes\":[{\"program\":\"go\""));
	assert_null(strstr(json, "\"hint\""));
	pair_done(&pair);
}

static void a_run_that_saw_nothing_says_what_to_try(void **state)
{
	_cleanup_free_ char *table = NULL, *json = NULL;
	struct pair pair = { 0 };

	(void)state;
	run_of(&pair.before, (const struct line[]){ { .live = 64 }, { 0 } });
	run_of(&pair.after, (const struct line[]){ { 0 } });
	diff_of(&pair, &(struct report_opts){ 0 });
	table = diff_text(&pair, diff_table_write);
	assert_non_null(strstr(strstr(table, "\nafter "), "no call of an allocator was seen: "));
	json = diff_text(&pair, diff_json_write);
	assert_non_null(strstr(strstr(json, "\"after\":{"), "\"hint\":\"no call of an "));
	pair_done(&pair);
}

static void differences_do_not_overflow(void **state)
{
	(void)state;
	assert_int_equal(saturate_subtract(INT64_MAX, -1), INT64_MAX);
	assert_int_equal(saturate_subtract(INT64_MIN, 1), INT64_MIN);
	assert_int_equal(saturate_subtract(3, 5), -2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_are_the_same_by_function_and_object),
		cmocka_unit_test(processes_are_the_same_by_name_and_executable),
		cmocka_unit_test(what_has_changed_most_comes_first),
		cmocka_unit_test(what_one_run_does_not_know_is_no_change),
		cmocka_unit_test(a_filter_keeps_both_sides_of_what_passes_on_one),
		cmocka_unit_test(names_lose_what_a_build_adds),
		cmocka_unit_test(what_is_not_seen_of_either_run_is_said),
		cmocka_unit_test(a_run_that_saw_nothing_says_what_to_try),
		cmocka_unit_test(differences_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
