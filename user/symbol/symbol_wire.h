/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the symbolizer asks of the worker that reads files for it, and what that answers: tables of
 * base/codec.h. Answers are read as hostile: all counts and lengths have bounds, and strings are
 * the message's.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOL_WIRE_H
#define MEMTRACED_SYMBOL_SYMBOL_WIRE_H

#include "base/codec.h"
#include "symbol/object_symbols.h"

/* The first byte of a request. */
enum symbol_request {
	SYMBOL_FACTS,	/* of one file: who it is */
	SYMBOL_LOOK_UP, /* of an object's files: what is at some places */
	SYMBOL_CRC,	/* of one file: that of its contents, for .gnu_debuglink */
	SYMBOL_FORGET,	/* an object: its files are closed */
};

/* Longer names are taken for none. */
#define SYMBOL_MAX_NAME (64 << 10)
/* Places of one request; of these as many are answered as fit: one at least. */
#define SYMBOL_MAX_PLACES 1024
#define SYMBOL_FULL_ANSWER (1 << 20)

struct symbol_look_up {
	uint64_t object;
	struct object_limits limits;
	struct object_files files; /* those that are there come as descriptors, in this order */
	size_t n_places;
	struct object_place places[SYMBOL_MAX_PLACES];
};
extern const struct layout symbol_look_up_layout;

/* After the first byte, with the descriptors that came. False: it makes no sense. */
bool symbol_get_look_up(struct decoder *decoder, const int *fds, size_t n_fds,
			struct symbol_look_up *ret_look_up);

/* Of struct elf_facts, which is for elf_facts_done(). */
extern const struct layout symbol_facts_layout;
/* Loads beyond those that Linux would map are left out. */
void symbol_put_facts(struct strbuf *answer, const struct elf_facts *facts);

/* Before the places: what is held, whether the object is stale, how many places follow. */
struct symbol_head {
	struct object_counts counts;
	bool is_stale;
	uint32_t n_places;
};
extern const struct layout symbol_head_layout;
/* `n_asked`: how many places can follow at most. Errors stay in the decoder. */
struct symbol_head symbol_get_head(struct decoder *decoder, size_t n_asked);

extern const struct layout symbol_found_layout;

#endif
