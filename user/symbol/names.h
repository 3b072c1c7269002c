/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function names and other strings of symbols, each stored and demangled once; they live as long
 * as the pool. One thread.
 */
#ifndef MEMTRACED_SYMBOL_NAMES_H
#define MEMTRACED_SYMBOL_NAMES_H

#include "base/hashmap.h"

#include <stddef.h>
#include <stdint.h>

struct names {
	struct hashmap map;
	uint64_t bytes; /* what they take, without the map's own memory */
};

void names_init(struct names *names);
void names_done(struct names *names);

/* The pool's copy of `len` bytes (without a NUL among them). 0 or -ENOMEM. */
int names_add(struct names *names, const char *text, size_t len, const char **ret_copy);

/* The same, and what it demangles to: the copy itself where it is not mangled. 0 or -ENOMEM. */
int names_demangle(struct names *names, const char *linkage, size_t len, const char **ret_copy,
		   const char **ret_function);

/*
 * C++ (Itanium), Rust (legacy and v0) and D demangling by libiberty, bounded in input and output:
 * symbol names are chosen by the author of the traced program. Any thread with 5 MiB of stack left.
 *
 * malloc'ed text with parameters, Rust hashes dropped; NULL when `name` is not mangled, is too long
 * (so is what it stands for), or memory is short.
 */
char *demangle(const char *name);

#endif
