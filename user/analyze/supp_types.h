/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What suppressions are asked about. Plain data.
 */
#ifndef MEMTRACED_ANALYZE_SUPP_TYPES_H
#define MEMTRACED_ANALYZE_SUPP_TYPES_H

#include "analyze/reach_types.h"

/*
 * Of stacks, innermost first, beginning with the allocator's function. An inlined function is a
 * frame of its own, before the one that holds it, with that one's object; NULL: not known.
 */
struct suppression_frame {
	const char *linkage;  /* as in the symbol table; of inlined functions NULL */
	const char *function; /* demangled */
	const char *object;   /* its path */
	const char *file;     /* of the source; its last component is matched, too */
	uint32_t line;	      /* 0: not known */
};

/* Memcheck's kinds of errors that can be found here. */
enum suppression_kind {
	SUPPRESSION_LEAK,
	SUPPRESSION_FREE,
	SUPPRESSION_FISHY, /* a size that is negative when it is taken as signed */
	SUPPRESSION_REALLOC_ZERO,
	SUPPRESSION_KINDS
};

#endif
