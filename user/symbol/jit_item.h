/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A piece of code that a run-time says to have made or moved: what readers of its files
 * (symbol/perf_map.h, symbol/jitdump.h) give. Plain data.
 */
#ifndef MEMTRACED_SYMBOL_JIT_ITEM_H
#define MEMTRACED_SYMBOL_JIT_ITEM_H

#include "trace/record/record.h"

#include <stdbool.h>

/* Longer names are cut off, longer file names taken for none. */
#define JIT_MAX_NAME 4096
/* Of one function. */
#define JIT_MAX_LINES (1U << 16)

struct jit_item {
	bool is_move;		     /* the code of that index is at `start` now */
	uint64_t index;		     /* of a jitdump; else 0 */
	uint64_t start, size_bytes;  /* may be empty or endless: damage that harms nobody else */
	uint64_t since_ns;	     /* 0: nobody knows from when */
	const char *name, *function; /* NULL of a move; function: demangled, NULL: as the name */
	size_t n_lines;		     /* ascending by offset */
	const struct record_jit_line *lines;
};

/* The item is the caller's. 0 or negative errno but -EBADMSG, upon which no
 * more come. */
typedef int (*jit_item_fn)(const struct jit_item *item, void *userdata);

#endif
