/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "symbol/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void names_read_as_in_their_sources(void **state)
{
	static const struct {
		const char *mangled;
		const char *text; /* NULL: not mangled */
	} cases[] = {
		/* C++ */
		{ "_Z3fooi", "foo(int)" },
		{ "_ZN2ns1A3getIiEET_S2_", "int ns::A::get<int>(int)" },
		{ "_ZNK2ns1A4sizeEv", "ns::A::size() const" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_Znwm", "operator new(unsigned long)" },
		{ "_ZdlPvm", "operator delete(void*, unsigned long)" },
		{ "_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()" },
		{ "_Z3fooi.cold", "foo(int) [clone .cold]" },
		{ "_Z1fv.constprop.0", "f() [clone .constprop.0]" },
		/* Rust, legacy: the hash is dropped */
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$8grow_one17hfedcba9876543210E",
		  "alloc::raw_vec::RawVec<T,A>::grow_one" },
		{ "_ZN4test4main28_$u7b$$u7b$closure$u7d$$u7d$17h0011223344556677E",
		  "test::main::{{closure}}" },
		{ "_ZN4test4main17h89abcdef01234567E.llvm.123456", "test::main" },
		/* Rust, v0 */
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_RNvNtCs1234_7mycrate3mod3bar", "mycrate::mod::bar" },
		{ "_RNCNvCs1234_7mycrate4main0", "mycrate::main::{closure#0}" },
		{ "_RNvMCs1234_7mycrateNtB2_4Type3new", "<mycrate::Type>::new" },
		{ "_RINvCs1234_7mycrate3maxlE", "mycrate::max::<i32>" },
		/* of rustc 1.95 */
		{ "_ZN7h_sym_r4deep10T$LT$A$GT$4grow28_$u7b$$u7b$closure$u7d$$u7d$"
		  "17h8cee1b16b4dcd1f1E",
		  "h_sym_r::deep::T<A>::grow::{{closure}}" },
		{ "_RNCNvMNtCslSv5uhMMI46_7h_sym_r4deepINtB4_1TyE4grow0B6_",
		  "<h_sym_r::deep::T<u64>>::grow::{closure#0}" },
		{ "_RINvMs2_NtCsgEmfK2I1SDS_4core3fmtNtB6_9Arguments3newKj4_Kj1_"
		  "ECslSv5uhMMI46_7h_sym_r",
		  "<core::fmt::Arguments>::new::<4, 1>" },
		/* D, of gdc 12 and ldc 1.30; the last two have back references */
		{ "_Dmain", "D main" },
		{ "_D3app1C3fooMFLiZv", "app.C.foo(lazy int)" },
		{ "_D3app4mainFZ12__dgliteral3MFNaNbNiNfZi", "app.main().__dgliteral3()" },
		{ "_D3app1C6__ctorMFiZCQsQq", "app.C.this(int)" },
		{ "_D3app__T1STiZQf3getMFNaNbNiNfiAyaZi",
		  "app.S!(int).S.get(int, immutable(char)[])" },
		/* neither */
		{ "_D", NULL },
		{ "_D3ap", NULL },
		{ "_Data", NULL },
		{ "malloc", NULL },
		{ "", NULL },
		{ "_", NULL },
		{ "_Z", NULL },
		{ "_R", NULL },
		{ "_ZN", NULL },
		{ "_ZN3foo", NULL },
		{ "_Z3fo", NULL },
		{ "_Zebra", NULL },
		{ "_Rust", NULL },
		{ "main.cold", NULL },
		{ "LazyCompile:~go a.js:3", NULL },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_free_ char *text = demangle(cases[i].mangled);

		if (!text != !cases[i].text || (text && strcmp(text, cases[i].text) != 0))
			fail_msg("%s gives %s", cases[i].mangled, text ? text : "nothing");
	}
}

/* "_Z1f" and n times "P", "i": a function of a pointer to a pointer ... to int. */
static char *nested_pointers(size_t n)
{
	char *name = malloc(n + 6);

	assert_non_null(name);
	memcpy(name, "_Z1f", 4);
	memset(name + 4, 'P', n);
	strcpy(name + 4 + n, "i");
	return name;
}

static void long_names_are_demangled_and_endless_ones_refused(void **state)
{
	/* 1,500 letters of one name: above what libiberty takes by default. */
	_cleanup_free_ char *longer = calloc(1, 2000), *text = NULL;
	_cleanup_free_ char *deepest = nested_pointers(16 * 1024 - 5);
	_cleanup_free_ char *too_long = nested_pointers(16 * 1024);
	int at = sprintf(longer, "_Z1500");

	(void)state;
	memset(longer + at, 'x', 1500);
	strcpy(longer + at + 1500, "v");
	text = demangle(longer);
	assert_non_null(text);
	assert_int_equal(strlen(text), 1502);
	assert_string_equal(text + 1500, "()");
	/* Whatever becomes of it, the stack must do. */
	free(demangle(deepest));
	assert_null(demangle(too_long));
}

/* Each parameter is a pair of the one before: the text doubles 40 times. */
static void names_that_stand_for_gigabytes_are_refused(void **state)
{
	char name[1024], *p = name, last[8] = "S0_";
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	(void)state;
	p += sprintf(p, "_Z1f1aIiiE");
	for (int i = 1; i <= 40; i++) {
		p += sprintf(p, "S_I%s%sE", last, last);
		if (i < 36)
			snprintf(last, sizeof(last), "S%c_", digits[i]);
		else
			snprintf(last, sizeof(last), "S1%c_", digits[i - 36]);
		if (i == 3) {
			_cleanup_free_ char *text = demangle(name);

			assert_non_null(text);
			assert_non_null(strstr(text, "a<a<a<a<int, int>, a<int, int> >"));
		}
	}
	assert_null(demangle(name));
}

/* Each parameter is a pair of the one before, by D's back references: 20 letters, 2^20 pairs. */
static void d_names_that_stand_for_gigabytes_are_refused(void **state)
{
	char name[1024], *p = name, *last, *text;

	(void)state;
	p += sprintf(p, "_D1fF");
	last = p;
	p += sprintf(p, "i");
	for (int i = 1; i <= 40; i++) {
		char *type = p;

		/* How far back `last` is from each Q; below 26 one letter will do. */
		p += sprintf(p, "B2Q%c", (int)('a' + (p + 2 - last)));
		p += sprintf(p, "Q%c", (int)('a' + (p - last)));
		last = type;
		if (i != 3)
			continue;
		strcpy(p, "Zv");
		text = demangle(name);
		assert_non_null(text);
		assert_string_equal(text, "f(int, Tuple!(int, int), "
					  "Tuple!(Tuple!(int, int), Tuple!(int, int)), "
					  "Tuple!(Tuple!(Tuple!(int, int), Tuple!(int, int)), "
					  "Tuple!(Tuple!(int, int), Tuple!(int, int))))");
		free(text);
	}
	strcpy(p, "Zv");
	assert_null(demangle(name));
}

/* As deep as its length allows, and text longer than is kept. */
static void deep_d_names_do_not_overflow_the_stack(void **state)
{
	static const struct {
		char letter;
		bool kept;
	} cases[] = { { 'A', true }, { 'P', true }, { 'F', false } };
	char name[8 * 1024 + 1];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		char *text;

		memset(name, cases[i].letter, sizeof(name));
		memcpy(name, "_D1aF", 5);
		strcpy(name + sizeof(name) - 4, "iZv");
		text = demangle(name);
		if (!text != !cases[i].kept)
			fail_msg("%c gives %s", cases[i].letter, text ? "something" : "nothing");
		free(text);
	}
}

/* `for<'a, ...>` in the path of an impl, which is not printed: only the counting takes time. */
static void rust_names_with_millions_of_lifetimes_are_refused(void **state)
{
	_cleanup_free_ char *text = demangle("_RNvMINtC1a1bFGb_EuEl1f");
	_cleanup_free_ char *many = malloc(16 * 1024);
	char *p = many;

	(void)state;
	assert_non_null(text);
	assert_string_equal(text, "<i32>::f");
	assert_null(demangle("_RNvMINtC1a1bFGzzzzzzzz_EuEl1f"));
	assert_null(demangle("_RNvMINtC1a1bDGzzzzzzzz_EL_El1f"));
	assert_non_null(many);
	p += sprintf(p, "_RNvMINtC1a1b");
	for (int i = 0; i < 1000; i++)
		p += sprintf(p, "FGzzz_Eu");
	strcpy(p, "El1f");
	assert_null(demangle(many));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_read_as_in_their_sources),
		cmocka_unit_test(long_names_are_demangled_and_endless_ones_refused),
		cmocka_unit_test(names_that_stand_for_gigabytes_are_refused),
		cmocka_unit_test(d_names_that_stand_for_gigabytes_are_refused),
		cmocka_unit_test(deep_d_names_do_not_overflow_the_stack),
		cmocka_unit_test(rust_names_with_millions_of_lifetimes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
