/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug information that says less than others: no ranges of units (DWARF 2), no mangled names. */
#include "base/cleanup.h"
#include "skip_because.h"
#include "symbol_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char scopes[] =
	"volatile int sink;\n"
	"#define INLINE inline __attribute__((always_inline))\n"
	"namespace outer { namespace {\n"
	"struct functor { INLINE void operator()(int x) const { sink = x; } };\n"
	"template<class F> struct loop { INLINE void each(F f) { f(2); } };\n"
	"} }\n"
	"struct plain { void run(int x); };\n"
	"INLINE void call_all(int x)\n"
	"{\n"
	"	struct local { INLINE void run(int y) { sink = y; } } here;\n"
	"	here.run(x);\n"
	"}\n"
	"void plain::run(int x)\n"
	"{\n"
	"	auto nested = [=](int y) __attribute__((always_inline)) { sink = x + y; };\n"
	"	nested(3);\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	outer::functor()(1);\n"
	"	outer::loop<outer::functor>().each(outer::functor());\n"
	"	call_all(4);\n"
	"	plain().run(argc);\n"
	"	return sink;\n"
	"}\n";

/* Whether some place in the function has a frame of this name, which is inlined. */
static bool is_inlined_in(const struct fixture *f, const char *path, const char *function,
			  const char *name)
{
	struct symbol_object *object = fixture_open(f, path, NULL);
	struct built_symbol at = fixture_find(path, function);

	for (uint64_t i = 0; i < at.size_bytes; i++) {
		const struct symbol *symbol = fixture_resolve(f, object, at.file_offset + i, false);

		for (size_t k = 0; k + 1 < symbol->n_frames; k++)
			if (symbol->frames[k].is_inline &&
			    strcmp(symbol->frames[k].function, name) == 0)
				return true;
	}
	return false;
}

static void build_scopes(const struct fixture *f, const char *path, const char *flags)
{
	_cleanup_free_ char *source = built_path(f->folder, "scopes.cc");

	built_write(source, scopes, strlen(scopes));
	built_run("g++ -O2 -g -fno-ipa-icf -fno-inline-small-functions %s -o %s %s", flags, path,
		  source);
}

static void check_scopes(const struct fixture *f, const char *flags)
{
	static const struct {
		const char *function, *name;
	} expected[] = {
		{ "main", "outer::(anonymous namespace)::functor::operator()" },
		{ "main", "outer::(anonymous namespace)::loop<outer::(anonymous "
			  "namespace)::functor>::each" },
		{ "main", "call_all(int)" },
		{ "main", "call_all(int)::local::run(int)" },
		{ "_ZN5plain3runEi", "plain::run::{lambda}::operator()" },
	};
	_cleanup_free_ char *path = built_path(f->folder, "scopes");

	build_scopes(f, path, flags);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		if (!is_inlined_in(f, path, expected[i].function, expected[i].name))
			fail_msg("%s: no %s in %s", flags, expected[i].name, expected[i].function);
}

static void inlined_functions_without_a_mangled_name_are_named_with_their_scope(void **state)
{
	const struct fixture *f = *state;

	if (!built_has_tool("g++"))
		skip_because("g++ is not installed");
	check_scopes(f, "-gdwarf-5");
	check_scopes(f, "-gdwarf-4 -fdebug-types-section");
	check_scopes(f, "-gdwarf-3 -gstrict-dwarf");
}

static void shared_debug_entries_have_scopes(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "shared"), *other = NULL;

	if (!built_has_tool("g++") || !built_has_tool("dwz"))
		skip_because("g++ or dwz is not installed");
	other = built_path(f->folder, "shared2");
	build_scopes(f, path, "-gdwarf-5");
	built_run("cp %s %s && cd %s && dwz -m shared.alt shared shared2", path, other, f->folder);
	assert_true(is_inlined_in(f, path, "_ZN5plain3runEi", "plain::run::{lambda}::operator()"));
}

/* GCC puts main and what it splits off into sections of their own, and DWARF 2 has no ranges. */
static void code_outside_of_its_units_range_has_lines(void **state)
{
	static const char *const flags[] = { "-gdwarf-2 -gstrict-dwarf",
					     "-gdwarf-2 -gstrict-dwarf -ffunction-sections" };
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "two");

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct symbol_object *object;

		fixture_build(f, "two", flags[i]);
		object = fixture_open(f, path, NULL);
		assert_function(f, object, fixture_find(path, "main"), "main", true);
		assert_function(f, object, fixture_find(path, "outer"), "outer", true);
		assert_true(is_inlined_in(f, path, "outer", "innermost"));
		assert_unknown(f, object, 0x10);
	}
}

static void damaged_files_do_no_harm(void **state)
{
	static const char *const flags[] = { "-gdwarf-5", "-gdwarf-2 -gstrict-dwarf" };
	const struct fixture *f = *state;
	_cleanup_free_ char *path = built_path(f->folder, "whole");

	if (!built_has_tool("g++"))
		skip_because("g++ is not installed");
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		build_scopes(f, path, flags[i]);
		fixture_resolve_damaged(f, path, fixture_find(path, "_ZN5plain3runEi").file_offset);
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, fixture_new_symbolizer, fixture_free_symbolizer)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inlined_functions_without_a_mangled_name_are_named_with_their_scope),
		TEST(shared_debug_entries_have_scopes),
		TEST(code_outside_of_its_units_range_has_lines),
		TEST(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
