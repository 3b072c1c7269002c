/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a jitdump (perf's jitdump-specification.txt), in which JIT compilers say where
 * their code is, from when on, and of which lines. Fed with the file's bytes as it grows, by a
 * worker (symbol/jit/jit_server.h): the file is the traced program's. What it must know to go on
 * is a few numbers, so that another process can. One thread.
 */
#ifndef MEMTRACED_SYMBOL_JIT_JITDUMP_H
#define MEMTRACED_SYMBOL_JIT_JITDUMP_H

#include "base/cleanup.h"
#include "trace/record/record.h"

#include <stdbool.h>
#include <stddef.h>

/* Longer names are cut off, longer file names taken for none. */
#define JIT_MAX_NAME 4096
/* Of one function. */
#define JIT_MAX_LINES (1U << 16)

/*
 * A piece of code that a run-time says to have made or moved: what readers of its files
 * (symbol/jit/perf_map.h, symbol/jit/jitdump.h) give. Plain data.
 */
struct jit_item {
	bool is_move;		     /* the code of that index is at `start` now */
	uint64_t index;		     /* of a jitdump; else 0 */
	uint64_t start, size_bytes;  /* may be empty or endless: damage that harms nothing else */
	uint64_t since_ns;	     /* 0: from when is not known */
	const char *name, *function; /* NULL of a move; function: demangled, NULL: as the name */
	size_t n_lines;		     /* ascending by offset */
	const struct record_jit_line *lines;
};

/* The item is the caller's. 0 or negative errno but -EBADMSG, upon which no more come. */
typedef int (*jit_item_fn)(const struct jit_item *item, void *userdata);

struct jitdump;

/* How far a file was taken in; all 0: not at all. */
struct jitdump_state {
	uint64_t offset;       /* of the next record */
	uint64_t lines_offset; /* of the lines whose code has not come yet; 0: there are none */
	bool other_clock;      /* times are not CLOCK_MONOTONIC's */
	bool closed;	       /* says its writer: what follows is no part of it */
};

/* Goes on from there. 0 or -ENOMEM. */
int jitdump_new(const struct jitdump_state *state, struct jitdump **ret_dump);
void jitdump_free(struct jitdump *dump); /* NULL is legal */
DEFINE_CLEANUP(struct jitdump, jitdump_free)

/* Where the state says that there are lines: the record at lines_offset. 0 or negative errno. */
int jitdump_feed_lines(struct jitdump *dump, const char *data, size_t len);

/*
 * Takes in the bytes at the state's offset; new and moved code is handed to fn. *ret_used: how many
 * bytes whole records took, 0 until the next one is there as a whole. 0 or negative errno: -EBADMSG
 * for what is no jitdump, is damaged or of foreign byte order, or what fn returned, whose record
 * then counts as taken in.
 */
int jitdump_feed(struct jitdump *dump, const char *data, size_t len, jit_item_fn fn, void *userdata,
		 size_t *ret_used);

/* After what was fed. */
const struct jitdump_state *jitdump_state(const struct jitdump *dump);

#endif
