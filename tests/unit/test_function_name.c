/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "symbol/function_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static void return_types_and_parameters_are_no_part_of_the_name(void **state)
{
	static const struct {
		const char *function, *name;
	} cases[] = {
		{ "main", "main" },
		{ "", "" },
		{ "foo(int)", "foo" },
		{ "int ns::A::get<int>(int)", "ns::A::get<int>" },
		{ "ns::A::size() const", "ns::A::size" },
		{ "unsigned int const* f<std::pair<int, long> >(int)", "f<std::pair<int, long> >" },
		{ "(anonymous namespace)::f()", "(anonymous namespace)::f" },
		{ "void (anonymous namespace)::f<int>()", "(anonymous namespace)::f<int>" },
		{ "operator new(unsigned long)", "operator new" },
		{ "operator new[](unsigned long, std::nothrow_t const&)", "operator new[]" },
		{ "void* A::operator new(unsigned long)", "A::operator new" },
		{ "A::operator()(int) const", "A::operator()" },
		{ "A::operator[](int)", "A::operator[]" },
		{ "A::operator->()", "A::operator->" },
		{ "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)",
		  "std::operator<< <std::char_traits<char> >" },
		{ "bool operator< <int>(A<int>)", "operator< <int>" },
		{ "A::operator char const*() const", "A::operator char const*" },
		{ "std::string std::operator+<char, A<char> >(char const*, std::string&&)",
		  "std::operator+<char, A<char> >" },
		{ "bool A::operator<=><int>(int)", "A::operator<=><int>" },
		{ "operators::run(int)", "operators::run" },
		{ "main::{lambda(int)#1}::operator()(int) const",
		  "main::{lambda(int)#1}::operator()" },
		{ "f(int)::A::g(long)", "f(int)::A::g" },
		{ "A::f(int) const::{lambda()#1}::operator()() const",
		  "A::f(int) const::{lambda()#1}::operator()" },
		{ "decltype (g({parm#1})) f<int>(int)", "f<int>" },
		{ "f(int) [clone .cold]", "f" },
		{ "parse.constprop.0", "parse.constprop.0" },
		{ "f [clone .cold]", "f" },
		{ "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
		  "<alloc::vec::Vec<T> as core::clone::Clone>::clone" },
		{ "core::ops::function::FnOnce::call_once{{vtable.shim}}",
		  "core::ops::function::FnOnce::call_once{{vtable.shim}}" },
		{ "f<(void (*)(int))0, ((a)->b)>(int)", "f<(void (*)(int))0, ((a)->b)>" },
		/* damaged */
		{ "f<int", "f<int" },
		{ "f>)(", "f>)" },
		{ "operator", "operator" },
		{ "decltype", "decltype" },
		{ "f (", "f " },
		/* of other languages, and of the kernel */
		{ "nft_do_chain [nf_tables]", "nft_do_chain" },
		{ "LazyCompile:~run /srv/app.js:12", "LazyCompile:~run /srv/app.js:12" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct function_name name = function_name_of(cases[i].function);
		_cleanup_free_ char *text = strndup(name.start, name.len);

		assert_string_equal(text, cases[i].name);
	}
}

static void names_are_short_as_in_the_source(void **state)
{
	static const struct {
		const char *function, *text;
	} cases[] = {
		{ "main", "main" },
		{ "", "" },
		{ "int ns::A::get<int>(int) const", "ns::A::get<int>(int) const" },
		{ "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
		  "std::vector<int>::_M_realloc_insert<int>(int&&)" },
		{ "f(std::__cxx11::basic_string<char, std::char_traits<char>, "
		  "std::allocator<char> > const&, int)",
		  "f(std::string const&, int)" },
		{ "std::__1::basic_ostream<char, std::__1::char_traits<char> >::put(char)",
		  "std::ostream::put(char)" },
		{ "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, "
		  "std::allocator<char> >, std::vector<int, std::allocator<int> >, "
		  "std::less<std::__cxx11::basic_string<char, std::char_traits<char>, "
		  "std::allocator<char> > >, std::allocator<std::pair<int const, int> > >::find()",
		  "std::map<std::string, std::vector<int>>::find()" },
		{ "std::basic_string<wchar_t, std::char_traits<wchar_t> >::f()",
		  "std::basic_string<wchar_t>::f()" },
		{ "std::allocator<int>::allocate(unsigned long)",
		  "std::allocator<int>::allocate(unsigned long)" },
		{ "std::vector<std::allocator<int>, A>::f()",
		  "std::vector<std::allocator<int>, A>::f()" },
		/* whose defaults are not known */
		{ "app::Map<int, std::less<int> >::f()", "app::Map<int, std::less<int>>::f()" },
		{ "bool operator< <int>(A<int>)", "operator< <int>(A<int>)" },
		{ "A::operator()(int) const", "A::operator()(int) const" },
		{ "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
		  "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone" },
		{ "f<(A<B>)1, g(int, int)>()", "f<(A<B>)1, g(int, int)>()" },
		{ "nft_do_chain [nf_tables]", "nft_do_chain [nf_tables]" },
		{ "LazyCompile:~run /srv/app.js:12", "LazyCompile:~run /srv/app.js:12" },
		/* damaged */
		{ "f<", "f<" },
		{ "f<int", "f<int" },
		{ "f<>", "f<>" },
		{ "std::a<,>", "std::a<,>" },
		{ "f>>>", "f>>>" },
		{ "std::__cxx11::", "std::" },
		{ "f<operator>>", "f<operator>>" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		_cleanup_strbuf_ struct strbuf out = { 0 };

		function_name_short(cases[i].function, &out);
		assert_int_equal(strbuf_error(&out), 0);
		assert_string_equal(strbuf_str(&out), cases[i].text);
	}
}

static void deep_names_end(void **state)
{
	static char text[60000];
	_cleanup_strbuf_ struct strbuf out = { 0 };

	(void)state;
	for (size_t i = 0; i + 10 < sizeof(text); i += 2)
		memcpy(text + i, i < sizeof(text) / 2 ? "a<" : " >", 2);
	function_name_short(text, &out);
	assert_int_equal(strbuf_error(&out), 0);
	assert_true(out.len > 0 && out.len <= strlen(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_types_and_parameters_are_no_part_of_the_name),
		cmocka_unit_test(names_are_short_as_in_the_source),
		cmocka_unit_test(deep_names_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
