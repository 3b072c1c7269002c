/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ (Itanium), Rust (legacy and v0) and D demangling by libiberty, bounded in input and output:
 * symbol names belong to whoever wrote the traced program. Any thread with 5 MiB of stack left.
 */
#ifndef MEMTRACED_SYMBOL_DEMANGLE_H
#define MEMTRACED_SYMBOL_DEMANGLE_H

/*
 * malloc'ed text with parameters, Rust hashes dropped; NULL when `name` is not mangled, is too long
 * (so is what it stands for), or memory is short.
 */
char *demangle(const char *name);

#endif
