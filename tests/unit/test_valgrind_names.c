/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/suppression_fixture.h"

/* An inlined function that both name; one of another unit; methods that Valgrind 3.19 misses. */
static const struct suppression_frame INLINED[] = {
	{ .linkage = "malloc", .function = "malloc", .object = LIBC },
	{ .linkage = "_ZN2ns1C4grabIiEEvT_",
	  .function = "void ns::C::grab<int>(int)",
	  .valgrind = "grab<int>",
	  .is_inline = true },
	{ .linkage = "_ZN2ns3farEv",
	  .function = "ns::far()",
	  .valgrind = "far",
	  .seen = SYMBOL_UNNAMED,
	  .is_inline = true },
	{ .linkage = "_Z5outerv", .function = "outer()" },
	{ .linkage = "_ZN3one17h0123456789abcdefE",
	  .function = "one",
	  .valgrind = "one<u8>",
	  .seen = SYMBOL_UNSEEN,
	  .is_inline = true },
	{ .function = "two", .valgrind = "two", .seen = SYMBOL_UNSEEN, .is_inline = true },
	{ .linkage = "_ZN6method17h0123456789abcdefE", .function = "method" },
	{ .linkage = "pthread_create", .valgrind = "pthread_create@@GLIBC_2.34" },
	{ .linkage = "__libc_start_main", .valgrind = "__libc_start_main@@GLIBC_2.34" },
	{ .linkage = "__clone3", .function = "__clone3" },
};

static void inlined_functions_match_by_each_of_their_names(void **state)
{
	static const struct {
		const char *lines;
		bool matches;
	} rows[] = {
		{ "fun:malloc\nfun:grab<int>\nfun:far\nfun:_Z5outerv\nfun:one<u8>\nfun:two", true },
		{ "fun:malloc\nfun:_ZN2ns1C4grabIiEEvT_\nfun:ns::far()", true },
		{ "fun:malloc\nfun:grab\nfun:UnknownInlinedFun\nfun:_Z5outerv", true },
		{ "fun:malloc\nfun:grab<long>\nfun:far", false },
		{ "fun:malloc\nfun:grab<int>\nfun:other", false },
		{ "fun:malloc\nfun:*\nfun:*\nfun:UnknownInlinedFun", false },
		/* as Valgrind 3.19 has them */
		{ "...\nfun:_Z5outerv\nfun:_ZN6method17hffffffffffffffffE", true },
		{ "...\nfun:_Z5outerv\nfun:two\nfun:_ZN6method17hffffffffffffffffE", false },
		{ "...\nfun:pthread_create@@GLIBC_2.34\nfun:__libc_start_main@@GLIBC_2.34\n"
		  "fun:clone",
		  true },
		{ "...\nfun:pthread_create\nfun:(below main)\nfun:__clone3", true },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++)
		if (frames_match(rows[i].lines, INLINED, N(INLINED)) != rows[i].matches)
			fail_msg("row %zu:\n%s", i, rows[i].lines);
}

/* Of a function that is called by a pointer it is not known which of them it is. */
static void forms_of_new_and_delete_match_where_it_is_not_known_which_was_called(void **state)
{
	static const struct {
		const char *name, *pattern;
		bool matches; /* if so, and never if it is known */
	} rows[] = {
		{ "_Znwm", "_Znam", true },
		{ "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", true },
		{ "_Znwm", "_ZnamRKSt9nothrow_t", false },
		{ "_Znam", "_Znwm", false },
		{ "free", "_ZdlPvm", true },
		{ "free", "_ZdaPvSt11align_val_t", true },
		{ "_ZdlPv", "_ZdaPv", true },
		{ "free", "_Znwm", false },
		{ "malloc", "_Znam", false },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		struct suppression_frame frame = { .linkage = rows[i].name };
		_cleanup_strbuf_ struct strbuf line = { 0 };

		strbuf_addf(&line, "fun:%s", rows[i].pattern);
		assert_false(frames_match(strbuf_str(&line), &frame, 1));
		frame.is_any_form = alloc_frames_has_forms(&frame);
		if (frames_match(strbuf_str(&line), &frame, 1) != rows[i].matches)
			fail_msg("row %zu", i);
	}
}

/* Such that those of Valgrind 3.19 and of 3.26 match. */
static void generated_entries_have_wildcards_where_valgrinds_differ(void **state)
{
	static const struct suppression_frame freed[] = {
		{ .linkage = "free", .is_any_form = true },
		{ .linkage = "main" },
		{ .linkage = "main" },
		{ .linkage = "_start" },
	};
	static const struct suppression_frame array[] = {
		{ .linkage = "_ZnwmRKSt9nothrow_t", .is_any_form = true },
		{ .linkage = "_start" },
		{ .linkage = "_start" },
	};
	_cleanup_strbuf_ struct strbuf sb = { 0 };

	(void)state;
	suppression_generate(&sb, SUPPRESSION_LEAK, REACH_POSSIBLE, INLINED, N(INLINED));
	suppression_generate(&sb, SUPPRESSION_FREE, 0, freed, N(freed));
	suppression_generate(&sb, SUPPRESSION_REALLOC_ZERO, 0, array, N(array));
	assert_string_equal(strbuf_str(&sb), "{\n"
					     "   <insert_a_suppression_name_here>\n"
					     "   Memcheck:Leak\n"
					     "   match-leak-kinds: possible\n"
					     "   fun:malloc\n"
					     "   fun:grab<int>\n"
					     "   fun:*\n"
					     "   fun:_Z5outerv\n"
					     "   ...\n"
					     "   fun:_ZN6method17h*E\n"
					     "   fun:pthread_create@*\n"
					     "   fun:__libc_start_main@*\n"
					     "   fun:clone\n"
					     "}\n"
					     "{\n"
					     "   <insert_a_suppression_name_here>\n"
					     "   Memcheck:Free\n"
					     "   fun:*\n"
					     "   fun:main\n"
					     "   fun:main\n"
					     "}\n"
					     "{\n"
					     "   <insert_a_suppression_name_here>\n"
					     "   Memcheck:ReallocZero\n"
					     "   fun:_Zn?mRKSt9nothrow_t\n"
					     "   fun:(below main)\n"
					     "}\n");
}

#define HASH "0123456789abcdef"

static void what_is_left_out_leaves_nothing_to_be_left_out(void **state)
{
	static const char *const rows[][2] = {
		{ "_ZN3one17h" HASH "E@@V_1", "_ZN3one17h*E" },
		{ "_RNvCs1a2B_7mycrate4main", "_RNvCs*_7mycrate4main" },
		{ "_RCsaaaaaaaaaCs123_", "_RCsaaaaaaaaaCs*_" },
		{ "one::two::h" HASH, "one::two" },
		{ "<one[" HASH "]::T as two[" HASH "]::U>::three::{closure#0}",
		  "<one::T as two::U>::three::{closure#0}" },
		{ "one[" HASH "][" HASH "]", "one" },
		/* The outer ones would be left out next. */
		{ "one[" HASH "[" HASH "]" HASH "]", NULL },
		{ "one[" HASH "[" HASH "]]", NULL },
		{ "one[" HASH "two::h" HASH "]", NULL },
		{ "one:::h" HASH ":h" HASH, NULL },
		{ "one::h0123[" HASH "]456789abcdef", NULL },
		{ "one@::h" HASH "@two", NULL },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const struct suppression_frame frame = { .linkage = rows[i][0] };
		_cleanup_free_ char *stable = NULL, *again = NULL;
		_cleanup_strbuf_ struct strbuf sb = { 0 };
		_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

		assert_int_equal(supp_stable_name(rows[i][0], &stable), 0);
		if (rows[i][1])
			assert_string_equal(stable, rows[i][1]);
		else
			assert_null(stable);
		assert_int_equal(supp_stable_name(stable ? stable : "", &again), 0);
		assert_null(again);
		suppression_generate(&sb, SUPPRESSION_LEAK, REACH_DEFINITE, &frame, 1);
		s = from(strbuf_str(&sb));
		assert_int_equal(match_leak(s, &frame, 1), 0);
	}
}

static void generated_entries_match_all_that_valgrind_sees(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

	(void)state;
	suppression_generate(&sb, SUPPRESSION_LEAK, REACH_DEFINITE, INLINED, N(INLINED));
	s = from(strbuf_str(&sb));
	assert_int_equal(match_leak(s, INLINED, N(INLINED)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_match_by_each_of_their_names),
		cmocka_unit_test(
			forms_of_new_and_delete_match_where_it_is_not_known_which_was_called),
		cmocka_unit_test(generated_entries_have_wildcards_where_valgrinds_differ),
		cmocka_unit_test(what_is_left_out_leaves_nothing_to_be_left_out),
		cmocka_unit_test(generated_entries_match_all_that_valgrind_sees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
