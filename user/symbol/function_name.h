/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a demangled function name. Pure functions of text that may be anything.
 */
#ifndef MEMTRACED_SYMBOL_FUNCTION_NAME_H
#define MEMTRACED_SYMBOL_FUNCTION_NAME_H

#include "base/strbuf.h"

#include <stddef.h>

struct function_name {
	const char *start; /* within the text */
	size_t len;
};

/*
 * The name with its scopes and template arguments, without the return type in front and without
 * the parameters behind: "ns::A::get<int>" of "int ns::A::get<int>(int) const". All of a name that
 * has neither.
 */
struct function_name function_name_of(const char *function);

/*
 * Appends the function without its return type, without inline namespaces of the C++ library and
 * template arguments that are its defaults, with std::string and the like:
 * "f(std::vector<int>)" for "void f(std::vector<int, std::allocator<int> >)".
 */
void function_name_short(const char *function, struct strbuf *out);

#endif
