/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of a place in code. Owned by what it came from: see there for how long.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOL_H
#define MEMTRACED_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_frame {
	const char *function; /* demangled, or NULL */
	const char *linkage;  /* as in the symbol table, or NULL */
	uint64_t offset;      /* from the start of the physical function; 0 when inlined; without a
			    function, the file offset */
	const char *file;     /* source path or NULL */
	uint32_t line;	      /* 0: unknown */
	bool is_inline;
};

/*
 * Innermost inlined function first, the physical function last; n_frames >= 1 always: a single
 * frame without a function when nothing is known. Owned by the symbolizer, valid until it is freed
 * or what it found is forgotten: symbolizer_age, symbolizer_fetch_from.
 */
struct symbol {
	size_t n_frames;
	const struct symbol_frame *frames;
};

#endif
