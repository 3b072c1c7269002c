/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache.h"

#include "base/hashmap.h"
#include "symbol/names.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <string.h>

struct place {
	struct place_key key;
	struct symbol symbol;
	struct symbol_frame frames[];
};

struct generation {
	struct hashmap places;
	struct names names;
	uint64_t place_bytes;
};

struct symbol_cache {
	struct generation *young, *old; /* old: NULL before the first ageing */
};

static uint64_t hash_place(const void *item)
{
	const struct place_key *key = &((const struct place *)item)->key;

	return hash_u64(key->file_offset ^ hash_u64((uintptr_t)key->object + key->kind));
}

static bool equal_places(const void *a, const void *b)
{
	const struct place_key *x = &((const struct place *)a)->key;
	const struct place_key *y = &((const struct place *)b)->key;

	return x->file_offset == y->file_offset && x->object == y->object && x->kind == y->kind;
}

static const struct hashmap_ops place_ops = { hash_place, equal_places, free };

static void generation_free(struct generation *generation)
{
	if (!generation)
		return;
	hashmap_done(&generation->places);
	names_done(&generation->names);
	free(generation);
}

static int generation_new(struct generation **ret_generation)
{
	struct generation *generation = calloc(1, sizeof(*generation));

	if (!generation)
		return -ENOMEM;
	generation->places.ops = &place_ops;
	names_init(&generation->names);
	*ret_generation = generation;
	return 0;
}

static uint64_t generation_bytes(const struct generation *generation)
{
	return generation ? generation->place_bytes + generation->names.bytes : 0;
}

int symbol_cache_new(struct symbol_cache **ret_cache)
{
	_cleanup_(symbol_cache_free_p) struct symbol_cache *cache = calloc(1, sizeof(*cache));
	int r;

	if (!cache)
		return -ENOMEM;
	r = generation_new(&cache->young);
	if (r < 0)
		return r;
	*ret_cache = TAKE_PTR(cache);
	return 0;
}

void symbol_cache_free(struct symbol_cache *cache)
{
	if (!cache)
		return;
	generation_free(cache->young);
	generation_free(cache->old);
	free(cache);
}

static const struct place *find_place(const struct generation *generation,
				      const struct place_key *key)
{
	const struct place wanted = { .key = *key };

	return generation ? hashmap_find(&generation->places, &wanted) : NULL;
}

int symbol_cache_find(struct symbol_cache *cache, const struct place_key *key,
		      const struct symbol **ret_symbol)
{
	const struct place *place = find_place(cache->young, key);

	if (place) {
		*ret_symbol = &place->symbol;
		return 0;
	}
	place = find_place(cache->old, key);
	return place ? symbol_cache_copy(cache, key, &place->symbol, ret_symbol) : -ENOENT;
}

static int copy_string(struct names *names, const char **s)
{
	return *s ? names_add(names, *s, strlen(*s), s) : 0;
}

static int copy_strings(struct names *names, struct symbol_frame *frame)
{
	int r = copy_string(names, &frame->function);

	if (r == 0)
		r = copy_string(names, &frame->linkage);
	if (r == 0)
		r = copy_string(names, &frame->valgrind);
	return r < 0 ? r : copy_string(names, &frame->file);
}

static int copy_callee(struct names *names, struct symbol_callee *callee)
{
	int r = copy_string(names, &callee->function);

	return r < 0 ? r : copy_string(names, &callee->linkage);
}

static struct place *place_new(const struct place_key *key, const struct symbol *symbol)
{
	size_t frame_bytes = symbol->n_frames * sizeof(*symbol->frames);
	struct place *place = malloc(sizeof(*place) + frame_bytes);

	if (!place)
		return NULL;
	place->key = *key;
	memcpy(place->frames, symbol->frames, frame_bytes);
	place->symbol = *symbol;
	place->symbol.frames = place->frames;
	return place;
}

/* Takes the place over where it returns 0. */
static int insert_place(struct generation *generation, struct place *place,
			const struct symbol **ret_symbol)
{
	int r = hashmap_insert(&generation->places, place);

	if (r < 0)
		return r;
	generation->place_bytes +=
		sizeof(*place) + place->symbol.n_frames * sizeof(place->frames[0]);
	*ret_symbol = &place->symbol;
	return 0;
}

int symbol_cache_add(struct symbol_cache *cache, const struct place_key *key,
		     const struct symbol *symbol, const struct symbol **ret_symbol)
{
	struct place *place = place_new(key, symbol);
	int r = place ? insert_place(cache->young, place, ret_symbol) : -ENOMEM;

	if (r < 0)
		free(place);
	return r;
}

int symbol_cache_copy(struct symbol_cache *cache, const struct place_key *key,
		      const struct symbol *symbol, const struct symbol **ret_symbol)
{
	struct place *place = place_new(key, symbol);
	int r = place ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < symbol->n_frames; i++)
		r = copy_strings(&cache->young->names, &place->frames[i]);
	if (r == 0)
		r = copy_callee(&cache->young->names, &place->symbol.callee);
	if (r == 0)
		r = insert_place(cache->young, place, ret_symbol);
	if (r < 0)
		free(place);
	return r;
}

struct names *symbol_cache_names(const struct symbol_cache *cache)
{
	return &cache->young->names;
}

int symbol_cache_age(struct symbol_cache *cache, uint64_t max_bytes)
{
	struct generation *fresh;
	int r;

	if (generation_bytes(cache->young) <= max_bytes)
		return 0;
	r = generation_new(&fresh);
	if (r < 0)
		return r;
	generation_free(cache->old);
	cache->old = cache->young;
	cache->young = fresh;
	return 1;
}

uint64_t symbol_cache_bytes(const struct symbol_cache *cache)
{
	return generation_bytes(cache->young) + generation_bytes(cache->old);
}
