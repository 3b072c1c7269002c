/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where glibc's arenas are. The main one is among its library's data (or a static program's), where
 * it has no symbol in a stripped library: it is told by its bins, which are lists that begin and
 * end in it. The others are linked from it. What brk gave it begins where malloc_par says.
 */
#include "base/vec.h"
#include "target/glibc/glibc_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Larger mappings of files hold a program's data, not a library's. */
#define DATA_MAX (256ULL << 20)
/* glibc makes 8 for each processor by itself (NARENAS_FROM_NCORES); mallopt allows more. */
#define ARENAS_MAX 65536
#define FIRST_WORD_OF_PAR 2
#define WORDS_OF_PAR 4
#define TCACHE_MAX_BYTES 1032		   /* tidx2usize(63) */
#define TCACHE_MOST_BYTES ((4U << 20) + 1) /* since 2.42 */
#define TCACHE_MAX_COUNT UINT16_MAX

/* A bin is a ring through itself: its links stand where fd and bk of a chunk 16 bytes before it. */
static bool bins_are_rings(const uint64_t *words, uint64_t addr, size_t gone)
{
	for (size_t i = 0; i < GLIBC_BINS; i++) {
		size_t at = GLIBC_ARENA_BINS - gone + 2 * i;
		const uint64_t *link = words + at;
		uint64_t self = addr + at * sizeof(*link) - GLIBC_HEAD;

		if (!link[0] || !link[1] || (link[0] == self) != (link[1] == self))
			return false;
		if (link[0] != self && (link[0] % GLIBC_ALIGN || link[1] % GLIBC_ALIGN))
			return false;
	}
	return true;
}

static bool is_in_heap(uint64_t arena)
{
	uint64_t in_heap = arena & (GLIBC_HEAP_SIZE - 1);

	return arena % GLIBC_ALIGN == 0 && in_heap >= sizeof(struct glibc_heap_info) &&
	       in_heap <= GLIBC_ARENA_OFFSET_MAX;
}

static bool is_main_arena(const uint64_t *words, uint64_t addr, size_t gone)
{
	uint64_t next = words[GLIBC_ARENA_NEXT - gone];

	return (next == addr || is_in_heap(next)) && bins_are_rings(words, addr, gone) &&
	       (uint32_t)words[GLIBC_ARENA_MUTEX] <= 2;
}

/*
 * The arenas are a ring. What stands before an arena that lacks words may pass for the words, but
 * the ring does not lead there.
 */
static bool leads_back(struct glibc_walk *w, const uint64_t *words, uint64_t addr, size_t gone)
{
	uint64_t next = words[GLIBC_ARENA_NEXT - gone];

	for (size_t i = 0; next != addr && i <= w->most_heaps; i++)
		if (!is_in_heap(next) ||
		    !glibc_word(w, next + (GLIBC_ARENA_NEXT - gone) * sizeof(next), &next))
			return false;
	return next == addr;
}

/* Is it a main arena that lacks words? */
static bool lacks_words(struct glibc_walk *w, const uint64_t *words, uint64_t addr)
{
	return is_main_arena(words, addr, GLIBC_ARENA_GONE) &&
	       leads_back(w, words, addr, GLIBC_ARENA_GONE);
}

/* The caches' number of sizes goes with the largest size (malloc/malloc.c: do_set_tcache_max). */
static bool has_tcache_sizes(const uint64_t *at)
{
	uint64_t max_bytes = at[GLIBC_PAR_TCACHE_MAX_BYTES], bins = at[GLIBC_PAR_TCACHE_BINS];
	uint64_t chunk = (max_bytes + 8 + GLIBC_ALIGN - 1) & ~(GLIBC_ALIGN - 1);

	if (at[GLIBC_PAR_TCACHE_COUNT] > TCACHE_MAX_COUNT)
		return false;
	/* Since 2.42 it is one more than the largest chunk, and larger ones have other lists. */
	if (bins == GLIBC_TCACHE_BINS && max_bytes > TCACHE_MAX_BYTES)
		return max_bytes % GLIBC_ALIGN == 1 && max_bytes <= TCACHE_MOST_BYTES;
	if (max_bytes > TCACHE_MAX_BYTES)
		return false;
	if (chunk < GLIBC_MIN_CHUNK)
		chunk = GLIBC_MIN_CHUNK;
	return bins == (chunk - GLIBC_MIN_CHUNK) / GLIBC_ALIGN + 1;
}

/*
 * Where the memory begins that reaches to that mapping without a gap: a process that was forked may
 * have several mappings by brk, since the kernel does not merge what is shared with what is not.
 */
static uint64_t run_start(const struct glibc_walk *w, const struct memory_map *map)
{
	while (map > w->source->maps && map[-1].end == map->start && map[-1].kind == map->kind)
		map--;
	return map->start;
}

/* Something else is mapped where brk would go on: the main arena goes on in memory from mmap. */
static bool has_left_brk(const struct glibc_walk *w, uint64_t base, uint64_t top)
{
	const struct memory_map *at_base = glibc_map_at(w, base), *at_top = glibc_map_at(w, top);

	return at_base && at_base->kind == MEMORY_HEAP && at_top &&
	       at_top->kind == MEMORY_ANONYMOUS;
}

static bool is_par(const struct glibc_walk *w, const uint64_t *at, uint64_t top)
{
	uint64_t base = at[GLIBC_PAR_SBRK_BASE], mapped = at[GLIBC_PAR_MMAPPED_MEM];
	const struct memory_map *map;

	if (!has_tcache_sizes(at) || mapped % GLIBC_PAGE || mapped > at[GLIBC_PAR_MAX_MMAPPED_MEM])
		return false;
	map = glibc_map_at(w, top);
	if (w->extent_only && has_left_brk(w, base, top))
		return true;
	/* Without any block the top is in the arena itself. */
	if (!map || map->kind == MEMORY_FILE)
		return base == 0;
	return base >= run_start(w, map) && base <= top;
}

/* Near the main arena, both being data of malloc.c. Of several that look so, none. */
static void find_par(struct glibc_walk *w, const uint64_t *words, size_t n, uint64_t top)
{
	size_t found = 0;

	for (size_t i = FIRST_WORD_OF_PAR; i + WORDS_OF_PAR <= n; i++) {
		if (!is_par(w, words + i, top))
			continue;
		found++;
		w->par = (struct glibc_par){
			.sbrk_base = words[i + GLIBC_PAR_SBRK_BASE],
			.mmapped_mem = (words + i)[GLIBC_PAR_MMAPPED_MEM],
			.tcache_count = words[i + GLIBC_PAR_TCACHE_COUNT],
		};
	}
	w->has_par = found == 1;
}

static int add_arena(struct glibc_walk *w, uint64_t addr)
{
	struct glibc_arena arena = { .addr = addr };

	/* Its first word stands before those that it may lack. */
	if (!glibc_copy(w, addr, arena.words + w->gone,
			sizeof(arena.words) - w->gone * sizeof(arena.words[0])))
		return 0; /* what hangs on it is not found: its bytes are not known either */
	arena.words[GLIBC_ARENA_MUTEX] = arena.words[w->gone];
	memset(arena.words + 1, 0, w->gone * sizeof(arena.words[0]));
	w->heap->n_arenas++;
	if ((uint32_t)arena.words[GLIBC_ARENA_MUTEX])
		w->heap->locked_arenas++;
	return vec_push(&w->arenas, arena);
}

/* 1: found; 0 or -ENOMEM. */
static int find_main_in(struct glibc_walk *w, const struct memory_map *map)
{
	size_t n = (map->end - map->start) / sizeof(uint64_t);
	_cleanup_free_ uint64_t *words = malloc(n * sizeof(*words));
	ssize_t got;
	int r;

	if (!words)
		return -ENOMEM;
	got = w->source->read(w->source->ctx, map->start, words, n * sizeof(*words));
	if (got < 0)
		return 0;
	n = (size_t)got / sizeof(*words);
	for (size_t i = 0; i + GLIBC_ARENA_WORDS - GLIBC_ARENA_GONE <= n; i++) {
		uint64_t addr = map->start + i * sizeof(*words);

		if (is_main_arena(words + i, addr, GLIBC_ARENA_GONE))
			w->gone = GLIBC_ARENA_GONE;
		else if (i + GLIBC_ARENA_WORDS <= n && is_main_arena(words + i, addr, 0) &&
			 !lacks_words(w, words + i + GLIBC_ARENA_GONE,
				      addr + GLIBC_ARENA_GONE * sizeof(*words)))
			w->gone = 0;
		else
			continue;
		r = add_arena(w, addr);
		if (r || !w->arenas.len)
			return r;
		find_par(w, words, n, w->arenas.data[0].words[GLIBC_ARENA_TOP]);
		return 1;
	}
	return 0;
}

static int add_segment(struct glibc_walk *w, struct glibc_segment segment)
{
	return vec_push(&w->segments, segment);
}

/* Without any block the arena's top is a chunk made of its first bin. */
static int add_main_segment(struct glibc_walk *w, const struct glibc_arena *arena)
{
	uint64_t top = arena->words[GLIBC_ARENA_TOP], start;
	const struct memory_map *map = glibc_map_at(w, top);

	if (top == arena->addr + (GLIBC_ARENA_BINS - w->gone - 2) * sizeof(uint64_t))
		return 0;
	if (!map || map->kind == MEMORY_FILE) {
		w->heap->unread_bytes += arena->words[GLIBC_ARENA_SYSTEM_MEM];
		return 0;
	}
	/* Its part by brk is what is wanted, which ends in a fence. */
	if (w->extent_only && w->has_par && has_left_brk(w, w->par.sbrk_base, top)) {
		map = glibc_map_at(w, w->par.sbrk_base);
		top = 0;
	}
	/* Without the parameters, what follows must lead from the mapping's start to the top. */
	start = w->has_par && w->par.sbrk_base ? w->par.sbrk_base : run_start(w, map);
	start = (start + GLIBC_ALIGN - 1) & ~(GLIBC_ALIGN - 1);
	return add_segment(w, (struct glibc_segment){ start, map->end, top, true });
}

/* Each heap lies in a place of its own, aligned as heaps are. */
static uint64_t count_places(const struct glibc_source *source)
{
	uint64_t n = 0;

	for (size_t i = 0; i < source->n_maps; i++)
		n += (source->maps[i].end - 1) / GLIBC_HEAP_SIZE -
		     source->maps[i].start / GLIBC_HEAP_SIZE + 1;
	return n;
}

/*
 * The heaps of an arena, from the newest, in which its top is, to the one that holds itself. Damage
 * may lead in a circle: there are no more of all arenas than have room.
 */
static int add_heap_segments(struct glibc_walk *w, const struct glibc_arena *arena)
{
	uint64_t top = arena->words[GLIBC_ARENA_TOP], at = top & ~(GLIBC_HEAP_SIZE - 1);
	uint64_t left = arena->words[GLIBC_ARENA_SYSTEM_MEM];
	struct glibc_heap_info heap;
	int r = 0;

	while (r == 0 && w->segments.len <= w->most_heaps &&
	       glibc_copy(w, at, &heap, sizeof(heap)) && glibc_is_heap(&heap, at) &&
	       heap.arena == arena->addr && heap.size <= left) {
		uint64_t info = heap.arena & (GLIBC_HEAP_SIZE - 1), first = at + info;

		/* struct heap_info is as long as in the heap where the arena follows it. */
		if (!heap.prev)
			first += (GLIBC_ARENA_WORDS - w->gone) * sizeof(uint64_t) + GLIBC_ALIGN - 1;
		first &= ~(GLIBC_ALIGN - 1);
		r = add_segment(w, (struct glibc_segment){ first, at + heap.size, top, false });
		top = 0;
		left -= heap.size;
		at = heap.prev;
		if (!at)
			break;
	}
	w->heap->unread_bytes += left;
	return r;
}

DEFINE_COMPARE(by_start, struct glibc_segment, start)

static int add_others(struct glibc_walk *w)
{
	uint64_t first = w->arenas.data[0].addr, next = w->arenas.data[0].words[GLIBC_ARENA_NEXT];
	int r = 0;

	while (r == 0 && next != first && is_in_heap(next) && w->arenas.len < ARENAS_MAX &&
	       w->arenas.len <= w->most_heaps) {
		size_t before = w->arenas.len;

		r = add_arena(w, next);
		if (r || w->arenas.len == before)
			break;
		next = w->arenas.data[before].words[GLIBC_ARENA_NEXT];
		r = add_heap_segments(w, &w->arenas.data[before]);
	}
	if (r == 0 && next != first)
		w->heap->broken_lists++;
	return r;
}

/* Ascending; of what overlaps the first one alone. */
static void sort_segments(struct glibc_walk *w)
{
	uint64_t end = 0;
	size_t kept = 0;

	vec_sort(&w->segments, by_start);
	vec_foreach(&w->segments, segment) {
		if (segment->start < end) {
			w->heap->unread_bytes += segment->end - segment->start;
			continue;
		}
		end = segment->end;
		w->segments.data[kept++] = *segment;
	}
	w->segments.len = kept;
}

int glibc_find_arenas(struct glibc_walk *w)
{
	int r = 0;

	w->most_heaps = count_places(w->source);
	for (size_t i = 0; i < w->source->n_maps && r == 0 && !glibc_is_late(w); i++) {
		const struct memory_map *map = &w->source->maps[i];

		if (map->kind == MEMORY_FILE && map->end - map->start <= DATA_MAX)
			r = find_main_in(w, map);
	}
	if (r < 0 || !w->arenas.len)
		return r;
	r = add_main_segment(w, &w->arenas.data[0]);
	if (r == 0)
		r = add_others(w);
	if (r == 0)
		sort_segments(w);
	return r;
}

/*
 * Large blocks, which have a mapping of their own each. Nothing links them, and the kernel merges
 * neighbouring mappings, so that they are sought by their heads; malloc_par has the sum of their
 * bytes, by which what was found is proven, or given up as a whole.
 */

#define MAX_ALIGN_BITS 40

struct mapped {
	uint64_t start, size; /* of the mapping */
	struct glibc_block block;
};

struct search {
	struct glibc_walk *w;
	VEC(struct mapped) found;
	uint64_t bytes;
};

static bool read_head(struct glibc_walk *w, uint64_t at, uint64_t head[2])
{
	return glibc_copy(w, at, head, 2 * sizeof(*head));
}

/* Of a mapping behind its chunk: since 2.43 as much as a chunk's neighbour would have there. */
static uint64_t mapped_rest(const struct glibc_walk *w)
{
	return w->gone ? GLIBC_HEAD : 0;
}

/*
 * memalign moves the head up to where the block shall begin; its first word then says by how much,
 * and the first head stays. The alignment was a power of two (_int_memalign, malloc/malloc.c).
 */
static uint64_t aligned_head(struct glibc_walk *w, uint64_t start, uint64_t size)
{
	for (unsigned int bits = 5; bits < MAX_ALIGN_BITS && 1ULL << bits < size; bits++) {
		uint64_t align = 1ULL << bits, head[2];
		uint64_t at = ((start + GLIBC_HEAD + align - 1) & -align) - GLIBC_HEAD;

		if (at == start)
			continue;
		if (at - start < GLIBC_MIN_CHUNK)
			at += align;
		if (at + GLIBC_MIN_CHUNK > start + size)
			break;
		if (read_head(w, at, head) && head[0] == at - start &&
		    head[1] == ((size - head[0] - mapped_rest(w)) | GLIBC_IS_MMAPPED))
			return at;
	}
	return start;
}

/* Does a block's mapping begin here? */
static bool mapped_block_at(struct search *s, const struct memory_map *map, uint64_t start,
			    struct mapped *ret)
{
	uint64_t head[2], size, at;

	if (!read_head(s->w, start, head))
		return false;
	size = (head[1] & ~GLIBC_FLAGS) + mapped_rest(s->w);
	if (head[0] || (head[1] & GLIBC_FLAGS) != GLIBC_IS_MMAPPED || !size || size % GLIBC_PAGE ||
	    size > map->end - start)
		return false;
	at = aligned_head(s->w, start, size);
	*ret = (struct mapped){ .start = start, .size = size };
	ret->block.addr = at + GLIBC_HEAD;
	/* Of the rest the program has the first word, as in arenas. */
	ret->block.size = start + size - at - GLIBC_HEAD - mapped_rest(s->w) / 2;
	return true;
}

static bool is_complete(const struct search *s)
{
	return s->bytes == s->w->par.mmapped_mem;
}

/* From `start` on, one behind the other; with `gaps`, page by page where none is. */
static int search_map(struct search *s, const struct memory_map *map, bool gaps)
{
	uint64_t at = map->start;
	int r = 0;

	while (r == 0 && at < map->end && !s->w->heap->is_late && !is_complete(s)) {
		struct mapped mapped;

		if (mapped_block_at(s, map, at, &mapped)) {
			r = vec_push(&s->found, mapped);
			s->bytes += mapped.size;
			at += mapped.size;
		} else if (gaps) {
			at += GLIBC_PAGE;
		} else {
			break;
		}
	}
	return r;
}

static int search_all_maps(struct search *s, bool gaps)
{
	int r = 0;

	s->found.len = 0;
	s->bytes = 0;
	for (size_t i = 0; i < s->w->source->n_maps && r == 0; i++)
		if (s->w->source->maps[i].kind == MEMORY_ANONYMOUS)
			r = search_map(s, &s->w->source->maps[i], gaps);
	return r;
}

int glibc_find_mapped(struct glibc_walk *w)
{
	struct search s = { .w = w };
	int r;

	w->heap->no_parameters = w->arenas.len && !w->has_par;
	if (!w->has_par || w->par.mmapped_mem == 0)
		return 0;
	/* Mostly each is alone in its mapping, or has only its likes before it. */
	r = search_all_maps(&s, false);
	if (r == 0 && !is_complete(&s))
		r = search_all_maps(&s, true);
	if (r == 0 && !is_complete(&s))
		w->heap->unread_bytes += w->par.mmapped_mem;
	for (size_t i = 0; i < s.found.len && r == 0 && is_complete(&s); i++)
		r = vec_push(&w->blocks, s.found.data[i].block);
	if (r == 0 && is_complete(&s))
		w->heap->mapped_bytes = s.bytes;
	vec_done(&s.found);
	return r;
}
