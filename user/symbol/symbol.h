/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of a place in code. Owned by what it came from: see there for how long.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOL_H
#define MEMTRACED_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How Valgrind before 3.26 shows an inlined function. */
enum symbol_seen {
	SYMBOL_SEEN,
	SYMBOL_UNNAMED, /* it is described in another unit */
	/* What it is inlined into is described in a type (Rust's methods), or clang's DWARF 5. */
	SYMBOL_UNSEEN,
};

struct symbol_frame {
	const char *function; /* demangled, or NULL */
	const char *linkage;  /* as in the symbol table, or NULL */
	uint64_t offset;      /* from the start of the physical function; 0 when inlined; without a
			    function, the file offset */
	const char *file;     /* source path or NULL */
	uint32_t line;	      /* 0: unknown */
	bool is_inline;
	/*
	 * As Valgrind calls it in suppressions: its choice among symbols of one address, with its
	 * version; of inlined functions the name in the debug information. NULL: linkage.
	 */
	const char *valgrind;
	enum symbol_seen seen;
};

/* An allocator function by which the program calls (probe/callee.h); NULL: none, or unknown. */
struct symbol_callee {
	const char *function; /* demangled */
	const char *linkage;
};

/*
 * Innermost inlined function first, the physical function last; n_frames >= 1 always: a single
 * frame without a function when nothing is known. Owned by the symbolizer, valid until it is freed
 * or what it found is forgotten: symbolizer_age, symbolizer_fetch_from.
 */
struct symbol {
	size_t n_frames;
	const struct symbol_frame *frames;
	struct symbol_callee callee; /* of the call that returns here */
};

#endif
