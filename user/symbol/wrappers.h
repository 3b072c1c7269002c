/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that allocate for others: wrappers of malloc, the runtimes of C, C++ and Rust, GLib.
 * A site is named by the first function that is none of them. Pure functions.
 */
#ifndef MEMTRACED_SYMBOL_WRAPPERS_H
#define MEMTRACED_SYMBOL_WRAPPERS_H

#include "symbol/function_name.h"

#include <stdbool.h>

/*
 * Is it one by its demangled name or by the path of its object? Each may be NULL: not known.
 * `linkage` tells Rust's names from those of C++.
 */
bool wrappers_have(const char *function, const char *linkage, const char *object);

/*
 * What names of wrappers are compared by: without return type and parameters, and without what
 * compilers append to the name of a copy ("xmalloc.constprop.0"). Within `function`.
 */
struct function_name wrappers_name(const char *function);

/* Does that of the function match the pattern, with * and ? in it? */
bool wrappers_match(const char *pattern, const char *function);

#endif
