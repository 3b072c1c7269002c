/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/glibc_heap.h"

#include "target/glibc_walk.h"

#include <errno.h>
#include <stdlib.h>

static void drop_listed(struct glibc_walk *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->blocks.len; i++)
		if (!(w->blocks.data[i].size & GLIBC_LISTED))
			w->blocks.data[kept++] = w->blocks.data[i];
	w->blocks.len = kept;
}

static int by_address(const void *item_a, const void *item_b)
{
	const struct glibc_block *a = item_a, *b = item_b;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

static int walk(struct glibc_walk *w)
{
	size_t in_arenas;
	int r = glibc_find_arenas(w);

	if (r == 0)
		r = glibc_walk_chunks(w);
	if (r == 0)
		r = glibc_mark_listed(w);
	if (r)
		return r;
	drop_listed(w);
	in_arenas = w->blocks.len;
	r = glibc_find_mapped(w);
	if (r == 0 && w->blocks.len > in_arenas)
		qsort(w->blocks.data, w->blocks.len, sizeof(w->blocks.data[0]), by_address);
	return r;
}

int glibc_heap_new(const struct glibc_source *source, struct glibc_heap **ret_heap)
{
	_cleanup_(glibc_heap_free_p) struct glibc_heap *heap = calloc(1, sizeof(*heap));
	struct glibc_walk w = { .source = source, .heap = heap };
	int r = -ENOMEM;

	w.window = malloc(GLIBC_WINDOW);
	if (heap && w.window)
		r = walk(&w);
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
static bool take_main(struct glibc_walk *w)
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
	found = w.window && glibc_find_arenas(&w) == 0 && take_main(&w) &&
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
