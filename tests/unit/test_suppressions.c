/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/suppression_fixture.h"

/* A stack with all that a frame may have. */
static const struct suppression_frame STACK[] = {
	FRAME("malloc", "malloc", LIBC, NULL, 0),
	FRAME(NULL, "app::make(int)", EXE, "/src/app/make.cc", 7), /* inlined into the next */
	FRAME("_ZN3app5buildEv", "app::build()", EXE, "/src/app/build.cc", 12),
	FRAME(NULL, NULL, "/opt/app/lib/libplug.so.1", NULL, 0),
	FRAME(NULL, NULL, NULL, NULL, 0),
	FRAME("main", "main", EXE, "main.cc", 3),
	FRAME("__libc_start_call_main", "__libc_start_call_main", LIBC, NULL, 0),
};

static void globs_match_whole_strings(void **state)
{
	static const struct {
		const char *pattern, *string;
		bool matches;
	} rows[] = {
		{ "malloc", "malloc", true },
		{ "malloc", "mallocx", false },
		{ "malloc", "xmalloc", false },
		{ "*alloc", "realloc", true },
		{ "m*c", "malloc", true },
		{ "m*c", "mallocd", false },
		{ "??lloc", "malloc", true },
		{ "?malloc", "malloc", false },
		{ "*", "", true },
		{ "", "", true },
		{ "", "a", false },
		{ "**a**", "bab", true },
		{ "*ab*ab*", "xabyaabz", true },
		{ "*ab*ab", "ababx", false },
		{ "a?c*", "abc", true },
		{ "[a]", "a", false },
		{ "\\*", "*", false },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++)
		if (supp_glob(rows[i].pattern, rows[i].string) != rows[i].matches)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].string);
}

static void patterns_match_from_the_innermost_frame_on(void **state)
{
	static const struct {
		const char *lines;
		bool matches;
	} rows[] = {
		{ "fun:malloc", true },
		{ "fun:*", true },
		{ "fun:calloc", false },
		{ "fun:app::build()", false },
		{ "fun:malloc\nfun:app::make(int)", true },
		{ "fun:malloc\nfun:make", true }, /* as Valgrind names inlined functions */
		{ "fun:malloc\nfun:make\nfun:_ZN3app5buildEv", true },
		{ "fun:malloc\nfun:make\nfun:app::build()", true },
		{ "fun:malloc\nfun:make\nfun:build", false }, /* is not inlined */
		{ "fun:malloc\n...\nfun:app::build()", true },
		{ "fun:malloc\n...\nfun:main", true },
		{ "...\nfun:main", true },
		{ "...\nfun:main\nfun:(below main)", true },
		{ "...\nfun:main\nfun:__libc_start_call_main", true },
		{ "...\nfun:main\nfun:(below main)\nfun:*", false }, /* the stack has ended */
		{ "...\nfun:main\nfun:(below main)\n...", true },
		/* as Valgrind has the end of a program without symbols */
		{ "...\nfun:main\nfun:(below main)\nobj:*\nobj:*", true },
		{ "...\nfun:main\nfun:(below main)\nobj:*.so", false },
		{ "...\n...\nfun:malloc", true },
		{ "...\nfun:nowhere", false },
		{ "obj:*libc.so*", true },
		{ "obj:libc.so.6", false },		 /* paths are matched whole */
		{ "obj:*\nobj:/opt/app/bin/app", true }, /* inlined: that of the physical frame */
		{ "fun:malloc\n...\nobj:*/libplug.so*\nobj:*\nfun:main", true },
		{ "fun:malloc\n...\nfun:\?\?\?\nfun:\?\?\?\nfun:main", true },
		{ "fun:malloc\n...\nobj:\?\?\?\nfun:main", true },
		{ "fun:malloc\nsrc:make.cc", true },
		{ "fun:malloc\nsrc:make.cc:7", true },
		{ "fun:malloc\nsrc:make.cc:8", false },
		{ "fun:malloc\nsrc:*/make.cc:7", true },
		{ "src:*", false }, /* no source is known */
		{ "...\nfun:app::*\n...\nfun:main", true },
		{ "...\nfun:main\n...\nfun:app::*", false },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++)
		if (frames_match(rows[i].lines, STACK, N(STACK)) != rows[i].matches)
			fail_msg("row %zu:\n%s", i, rows[i].lines);
}

static void names_match_in_every_way_of_writing(void **state)
{
	static const struct {
		const char *pattern;
		struct suppression_frame frame;
		bool matches;
	} rows[] = {
		/* Rust, legacy: with the hash of this or of another build, or without */
		{ "core::fmt::write",
		  FRAME("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", 0, 0, 0),
		  true },
		{ "core::fmt::write", FRAME(NULL, "core::fmt::write::h0123456789abcdef", 0, 0, 0),
		  true },
		{ "core::fmt::write::h00000000deadbeef",
		  FRAME("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", 0, 0, 0),
		  true },
		{ "_ZN4core3fmt5write17h00000000deadbeefE",
		  FRAME("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", 0, 0, 0),
		  true },
		{ "_ZN4core3fmt5write17h*E",
		  FRAME("_ZN4core3fmt5write17h0123456789abcdefE", NULL, 0, 0, 0), true },
		{ "_ZN4core3fmt4read17h00000000deadbeefE",
		  FRAME("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", 0, 0, 0),
		  false },
		/* v0 */
		{ "app::run", FRAME("_RNvCs4fqI2P2rA04_3app3run", "app::run", 0, 0, 0), true },
		{ "app::run", FRAME(NULL, "app[317d481089b8c8fe]::run", 0, 0, 0), true },
		{ "app[0000000000000001]::run", FRAME(NULL, "app[317d481089b8c8fe]::run", 0, 0, 0),
		  true },
		/* more digits than 64 bits have: a name */
		{ "_RNvCs0123456789ab_3app3run",
		  FRAME("_RNvCs4fqI2P2rA04_3app3run", "app::run", 0, 0, 0), false },
		{ "_RNvCsOTHER_3app3run", FRAME("_RNvCs4fqI2P2rA04_3app3run", "app::run", 0, 0, 0),
		  true },
		{ "_RNvCsOTHER_3app4walk", FRAME("_RNvCs4fqI2P2rA04_3app3run", "app::run", 0, 0, 0),
		  false },
		/* what only looks like a hash */
		{ "f(int (&) [3])", FRAME("_Z1fRA4_i", "f(int (&) [4])", 0, 0, 0), false },
		{ "a::h0123456789abcde", FRAME(NULL, "a", 0, 0, 0), false },
		{ "a", FRAME(NULL, "a::h0123456789abcdef_tail", 0, 0, 0), false },
		/* ELF versions, on either side */
		{ "pthread_create@@GLIBC_2.2.5", FRAME("pthread_create", NULL, 0, 0, 0), true },
		{ "pthread_create@*", FRAME("pthread_create", NULL, 0, 0, 0), true },
		{ "pthread_create", FRAME("pthread_create@GLIBC_2.2.5", NULL, 0, 0, 0), true },
		{ "pthread_create@@GLIBC_2.34", FRAME("pthread_create@@GLIBC_2.2.5", NULL, 0, 0, 0),
		  true },
		/* names of C++ */
		{ "_Z5tmakeIlEPT_i", FRAME("_Z5tmakeIlEPT_i", "long* tmake<long>(int)", 0, 0, 0),
		  true },
		{ "long\?tmake*", FRAME("_Z5tmakeIlEPT_i", "long* tmake<long>(int)", 0, 0, 0),
		  false },
		{ "long* tmake<long>(int)",
		  FRAME("_Z5tmakeIlEPT_i", "long* tmake<long>(int)", 0, 0, 0), true },
		{ "tmake<long int>", FRAME(NULL, "long* app::tmake<long>(int)", 0, 0, 0), true },
		{ "tmake<long int>", FRAME("_Z5tmakeIlEPT_i", "long* tmake<long>(int)", 0, 0, 0),
		  false },
		{ "make<long int>", FRAME(NULL, "long* app::tmake<long>(int)", 0, 0, 0), false },
		{ "(below main)", FRAME("generic_start_main", NULL, 0, 0, 0), true },
		{ "(below main)", FRAME("__libc_start_main@@GLIBC_2.34", NULL, 0, 0, 0), true },
		{ "(below main)", FRAME("_start_over", NULL, 0, 0, 0), false },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		_cleanup_strbuf_ struct strbuf line = { 0 };

		strbuf_addf(&line, "fun:%s", rows[i].pattern);
		if (frames_match(strbuf_str(&line), &rows[i].frame, 1) != rows[i].matches)
			fail_msg("row %zu: %s", i, rows[i].pattern);
	}
}

static void base_names_are_found(void **state)
{
	static const struct {
		const char *name, *base;
	} rows[] = {
		{ "main", "main" },
		{ "app::make(int)", "make" },
		{ "long* tmake<long>(int)", "tmake" },
		{ "operator new(unsigned long)", "operator new" },
		{ "std::vector<std::pair<int, int>>::push_back(std::pair<int, int>&&)",
		  "push_back" },
		{ "(anonymous namespace)::run()", "run" },
		{ "A::operator()(int) const", "operator()" },
		{ "A::operator<(A const&)", "operator<" },
		{ "a<int>::operator()<long>(long)", "operator()" },
		{ "a::f<int, b::c>(int)", "f" },
		{ "a::operator<<(int)", "operator<<" },
		{ "<T as core::fmt::Debug>::fmt", "fmt" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		size_t len;
		const char *base = supp_base_name(rows[i].name, &len);

		if (len != strlen(rows[i].base) || strncmp(base, rows[i].base, len) != 0)
			fail_msg("%s: %.*s", rows[i].name, (int)len, base);
	}
}

static void kinds_of_leaks_are_told_apart(void **state)
{
	static const struct {
		const char *kinds;
		uint32_t classes;
	} rows[] = {
		{ "", 15 },
		{ "match-leak-kinds: all\n", 15 },
		{ "match-leak-kinds:none\n", 0 },
		{ "match-leak-kinds: \tdefinite\n", 1 },
		{ "match-leak-kinds: possible,indirect\n", 6 },
		{ "match-leak-kinds: reachable\n", 8 },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = { 0 };
		_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

		strbuf_addf(&text, "{\nx\nMemcheck:Leak\n%sfun:*\n}\n", rows[i].kinds);
		s = from(strbuf_str(&text));
		for (int class = 0; class < REACH_CLASSES; class ++)
			assert_int_equal(suppressions_match(s, SUPPRESSION_LEAK, class, STACK,
							    N(STACK)),
					 rows[i].classes & (1U << class) ? 0 : -ENOENT);
		assert_int_equal(suppressions_match(s, SUPPRESSION_FREE, 0, STACK, N(STACK)),
				 -ENOENT);
	}
}

static void what_other_tools_suppress_is_read_over(void **state)
{
	static const char text[] =
		"# a comment\n"
		"\n"
		"{\n  races\n  Helgrind:Race\n  whatever stands here\n}\n"
		"{\n  param\n  Memcheck:Param\n  write(buf)\n  fun:write\n}\n"
		"{\n  cond\n  Addrcheck,Memcheck:Cond\n  fun:f\n}\n"
		"{\r\n  free # no comment here\r\n  Memcheck:Free\r\n  fun:free\r\n}\r\n"
		"{\n# within\n  two\n\n  Addrcheck,Memcheck:Leak\n  # too\n"
		"\t...\n\tfun:g\n}";
	_cleanup_(suppressions_free_p) struct suppressions *s = from(text);
	static const struct suppression_frame freed = FRAME("free", "free", LIBC, NULL, 0);

	(void)state;
	assert_int_equal(suppressions_n(s), 2);
	assert_string_equal(suppressions_use(s, 0).name, "free # no comment here");
	assert_string_equal(suppressions_use(s, 1).name, "two");
	assert_string_equal(suppressions_use(s, 1).file, "test.supp");
	assert_int_equal(suppressions_use(s, 1).line, 26);
	assert_int_equal(suppressions_match(s, SUPPRESSION_FREE, 0, &freed, 1), 0);
	assert_int_equal(match_leak(s, &freed, 1), -ENOENT);
}

/* Their line of function and argument is Valgrind's (its manual, "Suppressing errors"). */
static void fishy_sizes_are_of_the_function_that_was_asked(void **state)
{
	static const char text[] =
		"{\n  one\n  Memcheck:FishyValue\n  malloc(size)\n  ...\n  fun:main\n}\n"
		"{\n  new\n  Memcheck:FishyValue\n  __builtin_new(size)\n  ...\n  fun:main\n}\n"
		"{\n  zero\n  Memcheck:ReallocZero\n  fun:realloc\n}\n";
	_cleanup_(suppressions_free_p) struct suppressions *s = from(text);
	static const struct {
		const char *function;
		int found;
	} rows[] = {
		{ "malloc", 0 },	{ "malloc@@GLIBC_2.2.5", 0 },
		{ "mallocx", -ENOENT }, { "calloc", -ENOENT },
		{ "_Znwm", 1 },		{ "_ZnwmRKSt9nothrow_t", 1 },
		{ "_Znam", -ENOENT },	{ NULL, -ENOENT },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		const struct suppression_frame frames[] = {
			FRAME(rows[i].function, NULL, LIBC, NULL, 0),
			FRAME("main", "main", EXE, NULL, 0),
		};

		assert_int_equal(suppressions_match(s, SUPPRESSION_FISHY, 0, frames, N(frames)),
				 rows[i].found);
		assert_int_equal(match_leak(s, frames, N(frames)), -ENOENT);
	}
	assert_int_equal(suppressions_match(s, SUPPRESSION_REALLOC_ZERO, 0,
					    &(struct suppression_frame){ .linkage = "realloc" }, 1),
			 2);
	assert_int_equal(suppressions_match(s, SUPPRESSION_FISHY, 0, NULL, 0), -ENOENT);
	suppressions_count_errors(s, 1, 20);
	assert_int_equal(suppressions_use(s, 1).records, 20);
	assert_int_equal(suppressions_use(s, 1).kind, SUPPRESSION_FISHY);
}

static void frees_by_operator_delete_begin_with_it(void **state)
{
	static const struct suppression_frame frames[] = {
		FRAME("free", "free", LIBC, NULL, 0),
		FRAME("_ZdlPv", "operator delete(void*)", EXE, NULL, 0),
		FRAME("_ZdlPvm", "operator delete(void*, unsigned long)", EXE, NULL, 0),
		FRAME("main", "main", EXE, NULL, 0),
	};

	(void)state;
	assert_int_equal(alloc_frames_inner(frames, N(frames)), 2);
	assert_int_equal(alloc_frames_inner(frames, 1), 0);
	assert_int_equal(alloc_frames_inner(frames + 2, 2), 0);
}

static void mistakes_are_told_with_file_and_line(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "x\n", "f:1: a line with nothing but { begins an entry: 'x'" },
		{ "\n# c\n{ x\n", "f:3: a line with nothing but { begins an entry: '{ x'" },
		{ "{\n", "f:1: an entry begins with its name and TOOL:KIND" },
		{ "{\n}\n", "f:2: an entry begins with its name and TOOL:KIND" },
		{ "{\nx\n}\n", "f:3: an entry begins with its name and TOOL:KIND" },
		{ "{\nx\nMemcheck\n}\n", "f:3: not TOOL:KIND: 'Memcheck'" },
		{ "{\nx\n:Leak\nfun:f\n}\n", "f:3: not TOOL:KIND: ':Leak'" },
		{ "{\nx\nMemcheck:\nfun:f\n}\n", "f:3: not TOOL:KIND: 'Memcheck:'" },
		{ "{\nx\nMemcheck:Leek\nfun:f\n", "f:2: this entry has no }" },
		{ "{\nx\nMemcheck:Leak\nmatch-x: y\nfun:f\n", "f:2: this entry has no }" },
		{ "{\nx\nMemcheck:Leak\n}\n", "f:2: an entry needs a frame that is not ..." },
		{ "{\nx\nMemcheck:Leak\n...\n}\n", "f:2: an entry needs a frame that is not ..." },
		{ "{\nx\nMemcheck:Leak\nfun:f\n", "f:2: this entry has no }" },
		{ "{\nx\nHelgrind:Race\nfun:f\n", "f:2: this entry has no }" },
		{ "{\nx\nMemcheck:Leak\nfn:f\n}\n",
		  "f:4: not a frame (fun:, obj:, src: or ...): 'fn:f'" },
		{ "{\nx\nMemcheck:Leak\n....\n}\n",
		  "f:4: not a frame (fun:, obj:, src: or ...): '....'" },
		{ "{\nx\nMemcheck:Leak\nfun:\n}\n", "f:4: a frame without a pattern: 'fun:'" },
		{ "{\nx\nMemcheck:Leak\nmatch-leak-kinds: foo\nfun:f\n}\n",
		  "f:4: not a list of definite, indirect, possible, reachable: 'foo'" },
		{ "{\nx\nMemcheck:Leak\nmatch-leak-kinds: definite,\nfun:f\n}\n",
		  "f:4: not a list of definite, indirect, possible, reachable: 'definite,'" },
		{ "{\nx\nMemcheck:Leak\nfun:f\nmatch-leak-kinds: all\n}\n",
		  "f:5: match-leak-kinds is for leaks, first" },
		{ "{\nx\nMemcheck:FishyValue\nfun:f\n}\n", "f:4: not FUNCTION(ARGUMENT): 'fun:f'" },
		{ "{\nx\nMemcheck:Free\nmatch-leak-kinds: all\nfun:f\n}\n",
		  "f:4: match-leak-kinds is for leaks, first" },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		_cleanup_(suppressions_free_p) struct suppressions *s =
			from("{\nok\nMemcheck:Leak\nfun:f\n}");

		assert_int_equal(suppressions_add_text(s, "f", rows[i].text, strlen(rows[i].text),
						       &error),
				 -EINVAL);
		assert_string_equal(strbuf_str(&error), rows[i].error);
		assert_int_equal(suppressions_n(s), 1);
	}
}

static void what_newer_valgrinds_may_know_is_skipped_with_one_warning(void **state)
{
	static const struct {
		const char *text, *warning;
		size_t n;
	} rows[] = {
		{ "{\nx\nMemcheck:UnsafeZeroSize\nany(line)\nfun:f\n}\n",
		  "f:3: 'UnsafeZeroSize' is not known; skipping 1 entry", 0 },
		{ "{\na\nMemcheck:Leak\nfun:f\n}\n{\nx\nMemcheck:New\n}\n"
		  "{\nb\nMemcheck:Leak\nmatch-threads: main\nfun:g\n}\n"
		  "{\nc\nMemcheck:Leak\nfun:h\n}\n",
		  "f:8: 'New' is not known; skipping 2 entries that are not understood", 2 },
		{ "{\nb\nMemcheck:Leak\nfun:f\nmatch-threads: main\n}\n",
		  "f:5: 'match-threads: main' is not known; skipping 1 entry", 0 },
		{ "{\nx\nMemcheck:BadSize\nfun:f\n}\n{\nx\nDRD:Other\nfun:f\n}\n", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		_cleanup_strbuf_ struct strbuf error = { 0 };
		_cleanup_(suppressions_free_p) struct suppressions *s = from("");

		assert_int_equal(suppressions_add_text(s, "f", rows[i].text, strlen(rows[i].text),
						       &error),
				 0);
		assert_string_equal(strbuf_str(&error), rows[i].warning);
		assert_int_equal(suppressions_n(s), rows[i].n);
	}
}

static void a_text_with_a_mistake_adds_nothing(void **state)
{
	static const char text[] = "{\ngood\nMemcheck:Leak\nfun:f@@X\n}\n{\nbad\n";
	_cleanup_strbuf_ struct strbuf error = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = from("");

	(void)state;
	assert_int_equal(suppressions_add_text(s, "f", text, strlen(text), &error), -EINVAL);
	assert_int_equal(suppressions_n(s), 0);
	strbuf_reset(&error);
	assert_int_equal(suppressions_add_text(s, "g", "#\n\0x", 4, &error), -EINVAL);
	assert_string_equal(strbuf_str(&error), "g:2: a byte of zero: this is not text");
}

static void files_that_cannot_be_read_are_named(void **state)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = from("");

	(void)state;
	assert_int_equal(suppressions_add_file(s, "/nowhere/x.supp", &error), -ENOENT);
	assert_string_equal(strbuf_str(&error), "/nowhere/x.supp: No such file or directory");
	strbuf_reset(&error);
	assert_int_equal(suppressions_add_file(s, "/", &error), -EISDIR);
}

static void a_stack_may_have_as_many_frames_as_valgrinds(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		_cleanup_strbuf_ struct strbuf text = { 0 }, error = { 0 };
		_cleanup_(suppressions_free_p) struct suppressions *s = from("");

		strbuf_adds(&text, "{\nx\nMemcheck:Leak\n");
		for (int i = 0; i < 500 + more; i++)
			strbuf_adds(&text, "fun:f\n");
		strbuf_adds(&text, "}\n");
		assert_int_equal(suppressions_add_text(s, "f", strbuf_str(&text), text.len, &error),
				 more ? -EINVAL : 0);
	}
}

/* Each "..." could begin anywhere: must not take exponential time. */
static void many_wildcards_end(void **state)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct suppression_frame frames[512];

	(void)state;
	for (int i = 0; i < 200; i++)
		strbuf_adds(&text, "...\nfun:a*a*a*a*a*b\n");
	for (size_t i = 0; i < N(frames); i++)
		frames[i] =
			(struct suppression_frame){ .linkage = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	assert_false(frames_match(strbuf_str(&text), frames, N(frames)));
}

static void uses_are_counted_for_the_first_that_matches(void **state)
{
	_cleanup_(suppressions_free_p) struct suppressions *s =
		from("{\none\nMemcheck:Leak\nmatch-leak-kinds: reachable\nfun:malloc\n}\n"
		     "{\ntwo\nMemcheck:Leak\nfun:malloc\n}\n{\nthree\nMemcheck:Leak\nfun:*\n}\n");
	int found = match_leak(s, STACK, N(STACK));

	(void)state;
	assert_int_equal(found, 1);
	suppressions_count(s, found, 3, 48);
	suppressions_count(s, found, 1, 2);
	assert_int_equal(suppressions_use(s, 1).records, 2);
	assert_int_equal(suppressions_use(s, 1).blocks, 4);
	assert_int_equal(suppressions_use(s, 1).bytes, 50);
	assert_int_equal(suppressions_use(s, 2).records, 0);
}

/* What we see below operator new is what Valgrind has replaced. */
static void frames_below_operator_new_are_left_out(void **state)
{
	static const struct suppression_frame array[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("_Znwm", "operator new(unsigned long)", NULL, NULL, 0),
		FRAME("_Znam", "operator new[](unsigned long)", NULL, NULL, 0),
		FRAME("f", "f", EXE, NULL, 0),
	};
	static const struct suppression_frame aligned[] = {
		FRAME("aligned_alloc", "aligned_alloc", LIBC, NULL, 0),
		FRAME(NULL, "operator new(unsigned long, std::align_val_t)", NULL, NULL, 0),
	};
	static const struct suppression_frame plain[] = {
		FRAME("strdup", "strdup", LIBC, NULL, 0),
		FRAME("_Znwm", "operator new(unsigned long)", NULL, NULL, 0),
	};

	(void)state;
	assert_int_equal(alloc_frames_inner(array, N(array)), 2);
	assert_int_equal(alloc_frames_inner(array, 2), 1);
	assert_int_equal(alloc_frames_inner(array, 1), 0);
	assert_int_equal(alloc_frames_inner(array, 0), 0);
	assert_int_equal(alloc_frames_inner(aligned, N(aligned)), 1);
	assert_int_equal(alloc_frames_inner(plain, N(plain)), 0);
	assert_true(frames_match("fun:_Znam\nfun:f", array, N(array)));
	assert_false(frames_match("fun:malloc", array, N(array)));
}

static void aligned_allocations_match_as_valgrind_sees_them(void **state)
{
	static const struct suppression_frame aligned[] = { { .linkage = "aligned_alloc" },
							    { .linkage = "f" } };
	static const struct suppression_frame pages[] = { { .linkage = "valloc" },
							  { .linkage = "f" } };
	static const struct suppression_frame posix[] = { { .linkage = "posix_memalign" },
							  { .linkage = "f" } };

	(void)state;
	assert_true(frames_match("fun:memalign\nfun:f", aligned, 2));
	assert_true(frames_match("fun:aligned_alloc\nfun:f", aligned, 2));
	assert_false(frames_match("fun:memalign\nfun:aligned_alloc", aligned, 2));
	assert_true(frames_match("fun:memalign\nfun:posix_memalign\nfun:f", posix, 2));
	assert_true(frames_match("fun:posix_memalign\nfun:f", posix, 2));
	assert_false(frames_match("fun:memalign\nfun:f", posix, 2));
	assert_true(frames_match("fun:memalign\nfun:f", pages, 2));
}

static void generated_entries_are_as_valgrinds(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };

	(void)state;
	suppression_generate(&sb, SUPPRESSION_LEAK, REACH_POSSIBLE, STACK, N(STACK));
	assert_string_equal(strbuf_str(&sb), "{\n"
					     "   <insert_a_suppression_name_here>\n"
					     "   Memcheck:Leak\n"
					     "   match-leak-kinds: possible\n"
					     "   fun:malloc\n"
					     "   fun:*make*\n"
					     "   fun:_ZN3app5buildEv\n"
					     "   obj:/opt/app/lib/libplug.so.1\n"
					     "   obj:*\n"
					     "   fun:main\n"
					     "}\n");
}

static void generated_entries_match_what_they_were_made_of(void **state)
{
	static const struct suppression_frame rust[] = {
		FRAME("posix_memalign", "posix_memalign", LIBC, NULL, 0),
		FRAME("_ZN5alloc5alloc5alloc17h0123456789abcdefE", "alloc::alloc::alloc", EXE, NULL,
		      0),
		FRAME("_RNvCs4fqI2P2rA04_3app3run", "app::run", EXE, NULL, 0),
		FRAME("f@@V_1", NULL, EXE, NULL, 0),
	};
	static const struct {
		const struct suppression_frame *frames;
		size_t n;
	} rows[] = { { STACK, N(STACK) }, { rust, N(rust) }, { STACK + 3, 2 } };

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		for (int kind = 0; kind < SUPPRESSION_KINDS; kind++) {
			_cleanup_strbuf_ struct strbuf sb = { 0 };
			_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

			suppression_generate(&sb, kind, REACH_DEFINITE, rows[i].frames, rows[i].n);
			s = from(strbuf_str(&sb));
			assert_int_equal(suppressions_match(s, kind, REACH_DEFINITE, rows[i].frames,
							    rows[i].n),
					 0);
		}
	}
}

static void a_generated_entry_of_names_that_steer_terminals_is_harmless_and_matches(void **state)
{
	static const struct suppression_frame frames[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("a\x1b[2J\xc2\x9b\xff", NULL, EXE, NULL, 0),
		FRAME(NULL, NULL, "/opt/\xe2\x80\xae\x07.so", NULL, 0),
		FRAME("*...*", "*...*", EXE, NULL, 0),
		FRAME(NULL, NULL, "/opt/*", NULL, 0),
	};
	static const char text[] = "   fun:a?[2J???\n   obj:/opt/????.so\n"
				   "   fun:?...?\n   obj:/opt/?\n"; /* no other names match */
	_cleanup_strbuf_ struct strbuf sb = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

	(void)state;
	suppression_generate(&sb, SUPPRESSION_LEAK, REACH_DEFINITE, frames, N(frames));
	assert_non_null(strstr(strbuf_str(&sb), text));
	s = from(strbuf_str(&sb));
	assert_int_equal(suppressions_match(s, SUPPRESSION_LEAK, REACH_DEFINITE, frames, N(frames)),
			 0);
}

/* Names are of the traced program: of its symbol table, or of debug information. */
static void generated_entries_hold_any_name(void **state)
{
	static const struct suppression_frame rows[][2] = {
		/* inlined: Valgrind has a name of its own for symbols only */
		{ FRAME("malloc", "malloc", 0, 0, 0), FRAME(NULL, "generic_start_main", 0, 0, 0) },
		{ FRAME(NULL, "_start", 0, 0, 0), FRAME("main", "main", 0, 0, 0) },
		{ FRAME("malloc\n}\n{\nx\nMemcheck:Leak\nfun:*", NULL, 0, 0, 0),
		  FRAME(NULL, "f\n}", 0, 0, 0) },
		{ FRAME(NULL, "a::f\ng(int)", 0, 0, 0), FRAME(NULL, NULL, "/tmp/x\n}\r", 0, 0) },
		{ FRAME("", NULL, 0, 0, 0), FRAME(NULL, "", 0, 0, 0) },
		{ FRAME("ends in a blank ", NULL, 0, 0, 0), FRAME(NULL, NULL, "", 0, 0) },
		{ FRAME("mal\xc2\x9bloc\xff", NULL, 0, 0, 0),
		  FRAME(NULL, "\xe2\x80\xae", 0, 0, 0) },
		{ FRAME("#no comment", NULL, 0, 0, 0), FRAME(" begins with one", NULL, 0, 0, 0) },
		{ FRAME(NULL, "operator new(unsigned long)", 0, 0, 0),
		  FRAME("f*?", NULL, 0, 0, 0) },
	};

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		for (int kind = 0; kind < SUPPRESSION_KINDS; kind++) {
			_cleanup_strbuf_ struct strbuf sb = { 0 };
			_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

			suppression_generate(&sb, kind, REACH_DEFINITE, rows[i], 2);
			s = from(strbuf_str(&sb));
			assert_int_equal(suppressions_n(s), 1);
			if (suppressions_match(s, kind, REACH_DEFINITE, rows[i], 2) != 0)
				fail_msg("row %zu:\n%s", i, strbuf_str(&sb));
		}
	}
}

static void a_generated_entry_has_a_frame_even_of_no_stack(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };
	_cleanup_(suppressions_free_p) struct suppressions *s = NULL;

	(void)state;
	suppression_generate(&sb, SUPPRESSION_LEAK, REACH_DEFINITE, NULL, 0);
	s = from(strbuf_str(&sb));
	assert_int_equal(suppressions_n(s), 1);
}

static void defaults_are_of_libraries_and_not_of_programs(void **state)
{
	_cleanup_(suppressions_free_p) struct suppressions *s = from("");
	static const struct suppression_frame pool[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME(NULL, NULL, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", NULL, 0),
		FRAME("call_init", "call_init", "/lib64/ld-linux-x86-64.so.2", NULL, 0),
		FRAME("_dl_init", "_dl_init", "/lib64/ld-linux-x86-64.so.2", NULL, 0),
	};
	/* as on arm64, where the distribution's files have no local names */
	static const struct suppression_frame nameless[] = {
		FRAME("malloc", "malloc", "/usr/lib/aarch64-linux-gnu/libc.so.6", NULL, 0),
		FRAME(NULL, NULL, "/usr/lib/aarch64-linux-gnu/libstdc++.so.6.0.30", NULL, 0),
		FRAME(NULL, NULL, "/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1", NULL, 0),
	};
	/* operator new of a library's own initialiser */
	static const struct suppression_frame other[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("_Znwm", NULL, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", NULL, 0),
		FRAME(NULL, NULL, "/opt/app/lib/libplug.so.1", NULL, 0),
		FRAME(NULL, NULL, "/lib64/ld-linux-x86-64.so.2", NULL, 0),
	};
	static const struct suppression_frame found[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("_dl_find_object_update_1", NULL, "/lib64/ld-linux-x86-64.so.2", NULL, 0),
	};
	/* memcheck has it as possibly lost, too */
	static const struct suppression_frame vector[] = {
		FRAME("calloc", "calloc", LIBC, NULL, 0),
		FRAME("allocate_dtv", NULL, "/lib64/ld-linux-x86-64.so.2", NULL, 0),
	};

	(void)state;
	assert_int_equal(suppressions_add_default(s, true, true), 0);
	assert_true(suppressions_n(s) > 5);
	assert_true(suppressions_match(s, SUPPRESSION_LEAK, REACH_REACHABLE, pool, N(pool)) >= 0);
	assert_int_equal(match_leak(s, pool, N(pool)), -ENOENT); /* would be news */
	assert_true(suppressions_match(s, SUPPRESSION_LEAK, REACH_REACHABLE, nameless,
				       N(nameless)) >= 0);
	assert_int_equal(suppressions_match(s, SUPPRESSION_LEAK, REACH_REACHABLE, other, N(other)),
			 -ENOENT);
	assert_true(match_leak(s, found, N(found)) >= 0);
	assert_int_equal(suppressions_match(s, SUPPRESSION_LEAK, REACH_POSSIBLE, vector, N(vector)),
			 -ENOENT);
	for (int class = 0; class < REACH_CLASSES; class ++)
		assert_int_equal(suppressions_match(s, SUPPRESSION_LEAK, class, STACK, N(STACK)),
				 -ENOENT);
}

/* Of frames that records are not told apart by, the user's entries know nothing. */
static void default_entries_alone_look_at_all_frames(void **state)
{
	_cleanup_(suppressions_free_p) struct suppressions *s =
		from("{\nall\nMemcheck:Leak\n...\nfun:main\n}\n");
	static const struct suppression_frame users[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("getpwnam", "getpwnam", LIBC, NULL, 0),
		FRAME("main", "main", EXE, NULL, 0),
	};
	/* A module of name services, or a handler, may allocate what is the program's. */
	static const struct suppression_frame below[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("own", "own", EXE, NULL, 0),
		FRAME("getpwnam", "getpwnam", LIBC, NULL, 0),
		FRAME("main", "main", EXE, NULL, 0),
	};
	/* What dlopen() has loaded, and its error, which dlerror() would give. */
	static const struct suppression_frame loaded[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("_dl_new_object", "_dl_new_object", "/lib64/ld-linux-x86-64.so.2", NULL, 0),
		FRAME("_dlerror_run", "_dlerror_run", LIBC, NULL, 0),
		FRAME("main", "main", EXE, NULL, 0),
	};
	static const struct suppression_frame refused[] = {
		FRAME("malloc", "malloc", LIBC, NULL, 0),
		FRAME("_dl_exception_create_format", NULL, "/lib64/ld-linux-x86-64.so.2", NULL, 0),
		FRAME("_dlerror_run", "_dlerror_run", LIBC, NULL, 0),
		FRAME("main", "main", EXE, NULL, 0),
	};

	(void)state;
	assert_int_equal(suppressions_match_default(s, REACH_REACHABLE, users, N(users)), -ENOENT);
	assert_int_equal(suppressions_add_default(s, true, true), 0);
	assert_true(suppressions_match_default(s, REACH_REACHABLE, users, N(users)) > 0);
	assert_int_equal(suppressions_match_default(s, REACH_DEFINITE, users, N(users)), -ENOENT);
	assert_int_equal(suppressions_match_default(s, REACH_REACHABLE, below, N(below)), -ENOENT);
	assert_int_equal(suppressions_match_default(s, REACH_REACHABLE, loaded, N(loaded)),
			 -ENOENT);
	assert_true(suppressions_match_default(s, REACH_REACHABLE, refused, N(refused)) > 0);
	assert_int_equal(suppressions_match(s, SUPPRESSION_LEAK, REACH_REACHABLE, users, N(users)),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_match_whole_strings),
		cmocka_unit_test(patterns_match_from_the_innermost_frame_on),
		cmocka_unit_test(names_match_in_every_way_of_writing),
		cmocka_unit_test(base_names_are_found),
		cmocka_unit_test(kinds_of_leaks_are_told_apart),
		cmocka_unit_test(what_other_tools_suppress_is_read_over),
		cmocka_unit_test(fishy_sizes_are_of_the_function_that_was_asked),
		cmocka_unit_test(frees_by_operator_delete_begin_with_it),
		cmocka_unit_test(mistakes_are_told_with_file_and_line),
		cmocka_unit_test(what_newer_valgrinds_may_know_is_skipped_with_one_warning),
		cmocka_unit_test(a_text_with_a_mistake_adds_nothing),
		cmocka_unit_test(files_that_cannot_be_read_are_named),
		cmocka_unit_test(a_stack_may_have_as_many_frames_as_valgrinds),
		cmocka_unit_test(many_wildcards_end),
		cmocka_unit_test(uses_are_counted_for_the_first_that_matches),
		cmocka_unit_test(frames_below_operator_new_are_left_out),
		cmocka_unit_test(aligned_allocations_match_as_valgrind_sees_them),
		cmocka_unit_test(generated_entries_are_as_valgrinds),
		cmocka_unit_test(generated_entries_match_what_they_were_made_of),
		cmocka_unit_test(
			a_generated_entry_of_names_that_steer_terminals_is_harmless_and_matches),
		cmocka_unit_test(generated_entries_hold_any_name),
		cmocka_unit_test(a_generated_entry_has_a_frame_even_of_no_stack),
		cmocka_unit_test(defaults_are_of_libraries_and_not_of_programs),
		cmocka_unit_test(default_entries_alone_look_at_all_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
