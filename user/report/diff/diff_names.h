/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What functions and objects are called where two runs are compared: names without what changes
 * from one build, version or compiler to the next. Pure functions.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_NAMES_H
#define MEMTRACED_REPORT_DIFF_DIFF_NAMES_H

#include "base/strbuf.h"

/*
 * Without Rust's hash ("::h" and 16 digits), and without what compilers append to the name of a
 * copy or a part of a function: "parse.constprop.0" and "parse() [clone .cold]" are parse.
 */
void diff_function_name(const char *name, struct strbuf *out);

/* "libfoo.so" of "/opt/lib/libfoo.so.1.2.3 (deleted)". */
void diff_object_name(const char *path, struct strbuf *out);

#endif
