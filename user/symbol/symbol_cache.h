/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a symbolizer has found, in two generations: what is used is in the young one or copied into
 * it; when that has grown too large, the old one is freed and the young one takes its place. All
 * results are void then, so that it happens only when their holder says so. One thread.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOL_CACHE_H
#define MEMTRACED_SYMBOL_SYMBOL_CACHE_H

#include "base/cleanup.h"

#include <stdint.h>

struct names;
struct symbol;
struct symbol_cache;
struct symbol_object;

/* Made known; at a place; before it, which a return address is looked up by. */
enum place_kind { PLACE_KNOWN, PLACE_AT, PLACE_BEFORE };

struct place_key {
	const struct symbol_object *object; /* never looked into */
	uint64_t file_offset;
	enum place_kind kind;
};

int symbol_cache_new(struct symbol_cache **ret_cache);
void symbol_cache_free(struct symbol_cache *cache); /* NULL is legal */
DEFINE_CLEANUP(struct symbol_cache, symbol_cache_free)

/* 0, -ENOENT, or -ENOMEM. */
int symbol_cache_find(struct symbol_cache *cache, const struct place_key *key,
		      const struct symbol **ret_symbol);

/*
 * Keeps a copy of the frames, whose strings are those of symbol_cache_names, or copied, too. 0,
 * -EEXIST when the place is there (it stays as it is), or -ENOMEM.
 */
int symbol_cache_add(struct symbol_cache *cache, const struct place_key *key,
		     const struct symbol *symbol, const struct symbol **ret_symbol);
int symbol_cache_copy(struct symbol_cache *cache, const struct place_key *key,
		      const struct symbol *symbol, const struct symbol **ret_symbol);

/* The pool for the strings of what is added, until the next ageing. */
struct names *symbol_cache_names(const struct symbol_cache *cache);

/*
 * When more than `max_bytes` were used since it last did so: forgets what was not used since then.
 * 1 when it did: all results are void. 0, or -ENOMEM.
 */
int symbol_cache_age(struct symbol_cache *cache, uint64_t max_bytes);

/* Of both generations. */
uint64_t symbol_cache_bytes(const struct symbol_cache *cache);

#endif
