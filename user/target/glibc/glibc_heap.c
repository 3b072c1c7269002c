/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Free chunks whose heads say that they are in use: those in fastbins and in threads' caches
 * (tcache). A cache is a chunk itself, known by what is in it; an empty one, by a word in its
 * thread's TLS beside one with the thread's arena (thread_arena, malloc/arena.c).
 */
#include "target/glibc/glibc_heap.h"

#include "base/vec.h"
#include "target/glibc/glibc_walk.h"

#include <errno.h>
#include <stdlib.h>

#if defined(__aarch64__)
#define TLS_IS_BEHIND true /* variant I of the ABI */
#else
#define TLS_IS_BEHIND false
#endif
/* libc's variables are within a thread's first modules. */
#define TLS_WORDS 2048
/* Both variables are of malloc.c, which has only a flag beside. */
#define TLS_NEAR 8
/* The limit of the tunable glibc.malloc.tcache_count. Fastbins have none: a ring must end. */
#define LIST_MAX (1U << 20)

struct list {
	uint64_t head; /* as stored; of a fastbin it is a chunk, else a block */
	uint64_t block_size;
	bool of_chunks;
};

/* Of the block that a list has next; 0: the end. *ret_block: NULL when it is none. */
static uint64_t next_of(struct glibc_walk *w, const struct list *list, uint64_t addr, bool mangled,
			struct glibc_block **ret_block)
{
	uint64_t link;

	*ret_block = glibc_block_at(w, addr);
	if (*ret_block && ((*ret_block)->size != list->block_size || !glibc_word(w, addr, &link)))
		*ret_block = NULL;
	if (!*ret_block)
		return 0;
	if (mangled)
		link = glibc_unmangle(addr, link);
	return link && list->of_chunks ? link + GLIBC_HEAD : link;
}

/* Blocks in the list; -1: it does not fit. */
static int32_t list_length(struct glibc_walk *w, const struct list *list, bool mangled)
{
	uint64_t addr = list->head && list->of_chunks ? list->head + GLIBC_HEAD : list->head;
	struct glibc_block *block;
	int32_t n;

	for (n = 0; addr; n++) {
		addr = next_of(w, list, addr, mangled, &block);
		if (!block || (block->size & GLIBC_LISTED) || n == LIST_MAX)
			return -1;
	}
	return n;
}

/* Of a list that was measured; bytes of its chunks, as far as it can still be read. */
static uint64_t mark_list(struct glibc_walk *w, const struct list *list, bool mangled)
{
	uint64_t addr = list->head && list->of_chunks ? list->head + GLIBC_HEAD : list->head, n = 0;
	struct glibc_block *block;

	while (addr) {
		addr = next_of(w, list, addr, mangled, &block);
		if (!block) {
			w->heap->broken_lists++; /* the deadline has come, or SIGKILL */
			break;
		}
		block->size |= GLIBC_LISTED;
		n++;
	}
	return n * (list->block_size + 8);
}

/*
 * Links are mixed with their places or not, by version: one of the two leads to the list's end.
 * *ret_mangled is of use when the result is above 0.
 */
static int32_t measure(struct glibc_walk *w, const struct list *list, bool *ret_mangled)
{
	int32_t n = list_length(w, list, true);

	*ret_mangled = n >= 0;
	return n >= 0 ? n : list_length(w, list, false);
}

static uint64_t size_of_index(size_t i)
{
	return GLIBC_MIN_CHUNK + GLIBC_ALIGN * i - 8;
}

static void mark_fastbins(struct glibc_walk *w, const struct glibc_arena *arena)
{
	for (size_t i = 0; i < GLIBC_FASTBINS; i++) {
		const struct list list = { .head = arena->words[GLIBC_ARENA_FASTBINS + i],
					   .block_size = size_of_index(i),
					   .of_chunks = true };
		bool mangled;

		if (measure(w, &list, &mangled) < 0)
			w->heap->broken_lists++;
		else
			w->heap->free_bytes += mark_list(w, &list, mangled);
	}
}

/* A cache as it is read: how many blocks each list should have. */
struct cache {
	size_t n;
	uint16_t counts[GLIBC_TCACHE_BINS_MOST];
	uint64_t entries[GLIBC_TCACHE_BINS_MOST];
};

/* Its lists, if it may be a cache by its size; a rest that makes no chunk stays in its chunk. */
static size_t cache_bins(const struct glibc_block *block)
{
	static const size_t bins[] = { GLIBC_TCACHE_BINS, GLIBC_TCACHE_BINS_MOST };
	uint64_t size = block->size & ~GLIBC_LISTED;

	for (size_t i = 0; i < sizeof(bins) / sizeof(bins[0]); i++)
		if (size == GLIBC_TCACHE_ROOM(bins[i]) ||
		    size == GLIBC_TCACHE_ROOM(bins[i]) + GLIBC_ALIGN)
			return bins[i];
	return 0;
}

static bool read_cache(struct glibc_walk *w, const struct glibc_block *block, struct cache *ret)
{
	*ret = (struct cache){ .n = cache_bins(block) };
	if (ret->n == 0 || (ret->n == GLIBC_TCACHE_BINS_MOST && !w->has_par))
		return false;
	if (!glibc_copy(w, block->addr, ret->counts, ret->n * sizeof(ret->counts[0])) ||
	    !glibc_copy(w, block->addr + ret->n * sizeof(ret->counts[0]), ret->entries,
			ret->n * sizeof(ret->entries[0])))
		return false;
	for (size_t i = 0; ret->n == GLIBC_TCACHE_BINS_MOST && i < ret->n; i++) {
		if (ret->counts[i] > w->par.tcache_count)
			return false;
		ret->counts[i] = (uint16_t)(w->par.tcache_count - ret->counts[i]);
	}
	return true;
}

static struct list list_of(const struct cache *cache, size_t i)
{
	return (struct list){ .head = cache->entries[i], .block_size = size_of_index(i) };
}

/*
 * Is it a cache? A thread that was stopped between the two steps of taking or putting a block makes
 * one count differ by one.
 */
static bool is_cache(struct glibc_walk *w, const struct cache *cache, size_t *ret_filled,
		     size_t *ret_broken)
{
	bool mangled;

	*ret_filled = *ret_broken = 0;
	for (size_t i = 0; i < cache->n; i++)
		if (cache->entries[i] % GLIBC_ALIGN)
			return false;
	for (size_t i = 0; i < cache->n; i++) {
		const struct list list = list_of(cache, i);
		int32_t n = measure(w, &list, &mangled);

		if (n < 0)
			return false;
		*ret_filled += n > 0;
		*ret_broken += n != cache->counts[i];
		if (n > cache->counts[i] + 1 || n + 1 < cache->counts[i])
			return false;
	}
	return *ret_broken <= 1;
}

static void mark_cache(struct glibc_walk *w, struct glibc_block *block, const struct cache *cache)
{
	w->heap->cached_bytes += block->size + 8;
	block->size |= GLIBC_LISTED;
	for (size_t i = 0; i < cache->n; i++) {
		const struct list list = list_of(cache, i);
		bool mangled;

		if (measure(w, &list, &mangled) > 0)
			w->heap->cached_bytes += mark_list(w, &list, mangled);
		else if (list.head)
			w->heap->broken_lists++; /* two caches have the same block */
	}
}

/* Marks it and what is in it, unless it is none. An empty one only when a thread has it. */
static bool mark_if_cache(struct glibc_walk *w, struct glibc_block *block, bool is_threads)
{
	struct cache cache;
	size_t filled, broken;

	if (block->size & GLIBC_LISTED || !read_cache(w, block, &cache))
		return false;
	if (!is_cache(w, &cache, &filled, &broken) || (!filled && !is_threads))
		return false;
	w->heap->broken_lists += broken;
	mark_cache(w, block, &cache);
	return true;
}

static bool is_arena(const struct glibc_walk *w, uint64_t addr)
{
	if (!addr)
		return false;
	vec_foreach(&w->arenas, arena)
		if (arena->addr == addr)
			return true;
	return false;
}

/* A thread's static TLS; how many words, 0: it cannot be read. */
static size_t read_tls(struct glibc_walk *w, uint64_t thread, uint64_t words[TLS_WORDS])
{
	const uint64_t bytes = TLS_WORDS * sizeof(*words);
	const struct memory_map *map = glibc_map_at(w, thread);
	uint64_t start = thread, end = thread;

	if (!map)
		return 0;
	if (TLS_IS_BEHIND)
		end = map->end - thread < bytes ? map->end : thread + bytes;
	else
		start = thread - map->start < bytes ? map->start : thread - bytes;
	return glibc_copy(w, start, words, end - start) ? (end - start) / sizeof(*words) : 0;
}

/* The thread's cache, of which the word beside that of its arena tells. */
static void mark_threads_cache(struct glibc_walk *w, uint64_t thread)
{
	uint64_t words[TLS_WORDS];
	size_t n = read_tls(w, thread, words);
	bool has_arena = false;

	for (size_t i = 0; i < n; i++) {
		size_t from = i > TLS_NEAR ? i - TLS_NEAR : 0;
		size_t to = i + TLS_NEAR < n ? i + TLS_NEAR : n - 1;

		if (!is_arena(w, words[i]))
			continue;
		has_arena = true;
		for (size_t j = from; j <= to; j++) {
			struct glibc_block *block = glibc_block_at(w, words[j]);

			if (block && ((block->size & GLIBC_LISTED && cache_bins(block)) ||
				      mark_if_cache(w, block, true)))
				return;
		}
	}
	if (n == 0 || (has_arena && !(w->has_par && w->par.tcache_count == 0)))
		w->heap->unknown_caches++;
}

static int mark_listed(struct glibc_walk *w)
{
	vec_foreach(&w->arenas, arena)
		mark_fastbins(w, arena);
	vec_foreach(&w->blocks, block)
		(void)mark_if_cache(w, block, false); /* most blocks are none */
	for (size_t i = 0; i < w->source->n_threads && w->arenas.len; i++)
		mark_threads_cache(w, w->source->threads[i]);
	return 0;
}

static void drop_listed(struct glibc_walk *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->blocks.len; i++)
		if (!(w->blocks.data[i].size & GLIBC_LISTED))
			w->blocks.data[kept++] = w->blocks.data[i];
	w->blocks.len = kept;
}

DEFINE_COMPARE(by_address, struct glibc_block, addr)

static int walk_heap(struct glibc_walk *w)
{
	size_t in_arenas;
	int r = glibc_find_arenas(w);

	if (r == 0)
		r = glibc_walk_chunks(w);
	if (r == 0)
		r = mark_listed(w);
	if (r)
		return r;
	drop_listed(w);
	in_arenas = w->blocks.len;
	r = glibc_find_mapped(w);
	if (r == 0 && w->blocks.len > in_arenas)
		vec_sort(&w->blocks, by_address);
	return r;
}

int glibc_heap_new(const struct glibc_source *source, struct glibc_heap **ret_heap)
{
	_cleanup_(glibc_heap_free_p) struct glibc_heap *heap = calloc(1, sizeof(*heap));
	struct glibc_walk w = { .source = source, .heap = heap };
	int r = -ENOMEM;

	w.window = malloc(GLIBC_WINDOW);
	if (heap && w.window)
		r = walk_heap(&w);
	free(w.window);
	vec_done(&w.arenas);
	vec_done(&w.segments);
	if (r) {
		vec_done(&w.blocks);
		return r;
	}
	heap->blocks = w.blocks.data;
	heap->n_blocks = w.blocks.len;
	*ret_heap = TAKE_PTR(heap);
	return 0;
}

/* Keeps the main arena's segment alone. false: it is not by brk. */
static bool choose_main_segment(struct glibc_walk *w)
{
	vec_foreach(&w->segments, segment) {
		const struct memory_map *map = glibc_map_at(w, segment->start);

		if (!segment->is_main)
			continue;
		w->segments.data[0] = *segment;
		w->segments.len = 1;
		return map && map->kind == MEMORY_HEAP;
	}
	return false;
}

bool glibc_brk_extent(const struct glibc_source *source, uint64_t *ret_start, uint64_t *ret_end)
{
	struct glibc_heap heap = { 0 };
	struct glibc_walk w = { .source = source, .heap = &heap, .extent_only = true };
	bool found;

	w.window = malloc(GLIBC_WINDOW);
	found = w.window && glibc_find_arenas(&w) == 0 && choose_main_segment(&w) &&
		glibc_walk_chunks(&w) == 0 && w.main_end;
	if (found) {
		*ret_start = w.segments.data[0].start;
		*ret_end = w.main_end;
	}
	free(w.window);
	vec_done(&w.arenas);
	vec_done(&w.segments);
	return found;
}

void glibc_heap_free(struct glibc_heap *heap)
{
	if (!heap)
		return;
	free(heap->blocks);
	free(heap);
}

bool glibc_heap_is_sound(const struct glibc_heap *heap)
{
	return heap->unread_bytes == 0 && heap->locked_arenas == 0 && heap->broken_lists == 0 &&
	       heap->unknown_caches == 0 && !heap->no_parameters && !heap->is_late;
}
