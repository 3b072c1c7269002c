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
		{ "f (", "" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		struct function_name name = function_name_of(cases[i].function);
		_cleanup_free_ char *text = strndup(name.start, name.len);

		assert_string_equal(text, cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(return_types_and_parameters_are_no_part_of_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
