/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large blocks, which have a mapping of their own each. Nothing links them, and the kernel merges
 * neighbouring mappings, so that they are sought by their heads; malloc_par has the sum of their
 * bytes, by which what was found is proven, or given up as a whole.
 */
#include "target/glibc_walk.h"

#include <errno.h>

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
		    head[1] == ((size - head[0]) | GLIBC_IS_MMAPPED))
			return at;
	}
	return start;
}

/* Does a block's mapping begin here? */
static bool look(struct search *s, const struct memory_map *map, uint64_t start, struct mapped *ret)
{
	uint64_t head[2], size, at;

	if (!read_head(s->w, start, head))
		return false;
	size = head[1] & ~GLIBC_FLAGS;
	if (head[0] || (head[1] & GLIBC_FLAGS) != GLIBC_IS_MMAPPED || !size || size % GLIBC_PAGE ||
	    size > map->end - start)
		return false;
	at = aligned_head(s->w, start, size);
	*ret = (struct mapped){ start, size, { at + GLIBC_HEAD, start + size - at - GLIBC_HEAD } };
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

		if (look(s, map, at, &mapped)) {
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

static int search(struct search *s, bool gaps)
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
	r = search(&s, false);
	if (r == 0 && !is_complete(&s))
		r = search(&s, true);
	if (r == 0 && !is_complete(&s))
		w->heap->unread_bytes += w->par.mmapped_mem;
	for (size_t i = 0; i < s.found.len && r == 0 && is_complete(&s); i++)
		r = vec_push(&w->blocks, s.found.data[i].block);
	if (r == 0 && is_complete(&s))
		w->heap->mapped_bytes = s.bytes;
	vec_done(&s.found);
	return r;
}
