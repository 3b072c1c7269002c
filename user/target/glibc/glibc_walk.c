/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/glibc/glibc_walk.h"

#include "base/clock.h"
#include "base/vec.h"

#include <string.h>

bool glibc_is_late(struct glibc_walk *w)
{
	uint64_t deadline = w->source->deadline_ns;

	if (!w->heap->is_late && deadline && clock_monotonic_ns() >= deadline)
		w->heap->is_late = true;
	return w->heap->is_late;
}

/*
 * Chunks are mostly small and read in order: more and more of what is behind is read with them.
 * Lists lead anywhere.
 */
static size_t window_size(const struct glibc_walk *w, uint64_t addr)
{
	uint64_t end = w->window_addr + w->window_len;

	if (w->window_len < GLIBC_PAGE || addr < w->window_addr || addr > end + w->window_len)
		return GLIBC_PAGE;
	return 2 * w->window_len < GLIBC_WINDOW ? 2 * w->window_len : GLIBC_WINDOW;
}

static bool fill_window(struct glibc_walk *w, uint64_t addr, size_t len)
{
	size_t size = window_size(w, addr);
	ssize_t got;

	if (glibc_is_late(w))
		return false;
	if (size < len)
		size = len;
	got = w->source->read(w->source->ctx, addr, w->window, size);
	w->window_addr = addr;
	w->window_len = got > 0 ? (size_t)got : 0;
	return w->window_len >= len;
}

bool glibc_copy(struct glibc_walk *w, uint64_t addr, void *buf, size_t len)
{
	if (addr < w->window_addr || addr - w->window_addr > w->window_len ||
	    w->window_len - (addr - w->window_addr) < len)
		if (len > GLIBC_WINDOW || !fill_window(w, addr, len))
			return false;
	memcpy(buf, w->window + (addr - w->window_addr), len);
	return true;
}

bool glibc_word(struct glibc_walk *w, uint64_t addr, uint64_t *ret_word)
{
	return glibc_copy(w, addr, ret_word, sizeof(*ret_word));
}

const struct memory_map *glibc_map_at(const struct glibc_walk *w, uint64_t addr)
{
	size_t low = partition_point(w->source->n_maps, i, w->source->maps[i].end <= addr);

	if (low == w->source->n_maps || w->source->maps[low].start > addr)
		return NULL;
	return &w->source->maps[low];
}

struct glibc_block *glibc_block_at(struct glibc_walk *w, uint64_t addr)
{
	size_t low = partition_point(w->blocks.len, i, w->blocks.data[i].addr < addr);

	if (low == w->blocks.len || w->blocks.data[low].addr != addr)
		return NULL;
	return &w->blocks.data[low];
}

/*
 * The chunks of an arena, one after the other. Whether one is free stands in the head of the next.
 */

struct chunk {
	uint64_t at, head;
};

static uint64_t size_of(uint64_t head)
{
	return head & ~GLIBC_FLAGS;
}

/* What `next_head` says of the chunk. False: they do not fit. *ret_r: 0 or -ENOMEM. */
static bool add_chunk(struct glibc_walk *w, const struct glibc_segment *segment,
		      const struct chunk *chunk, uint64_t next_head, int *ret_r)
{
	bool in_use = next_head & GLIBC_PREV_INUSE;

	/* The flag is set in blocks alone, not in free chunks. */
	if (in_use && ((chunk->head & GLIBC_NON_MAIN_ARENA) == 0) != segment->is_main)
		return false;
	if (!in_use)
		w->heap->free_bytes += size_of(chunk->head);
	else if (!w->extent_only)
		*ret_r = vec_push(&w->blocks,
				  (struct glibc_block){ .addr = chunk->at + GLIBC_HEAD,
							.size = size_of(chunk->head) - 8 });
	return true;
}

static bool is_chunk(const struct glibc_segment *segment, const struct chunk *chunk)
{
	uint64_t size = size_of(chunk->head), end = segment->top ? segment->top : segment->end;

	return !(chunk->head & GLIBC_IS_MMAPPED) && size >= GLIBC_MIN_CHUNK &&
	       size % GLIBC_ALIGN == 0 && size <= end - chunk->at;
}

/*
 * Where the arena went on elsewhere, what was its top ends in a fence: a chunk of 16 bytes (32 if
 * those were all that was left) and a head of size 0.
 */
static bool at_fence(const struct glibc_segment *segment, const struct chunk *chunk)
{
	return !segment->top && size_of(chunk->head) == 0 && chunk->at + GLIBC_HEAD == segment->end;
}

/*
 * How far it is understood. In the main arena there are two fences where another caller of sbrk
 * came between; where the arena goes on behind that, nothing says.
 */
static uint64_t walk_segment(struct glibc_walk *w, const struct glibc_segment *segment, int *ret_r)
{
	struct chunk last = { 0 }, chunk = { .at = segment->start };

	if (chunk.at > (segment->top ? segment->top : segment->end))
		return segment->top;
	while (*ret_r == 0) {
		bool is_fence, is_top = chunk.at == segment->top;

		if (!glibc_word(w, chunk.at + 8, &chunk.head))
			break;
		if (at_fence(segment, &chunk))
			return segment->end;
		is_fence = size_of(chunk.head) == GLIBC_HEAD;
		if (!is_fence && !is_top && !is_chunk(segment, &chunk))
			break;
		if (last.at && !add_chunk(w, segment, &last, chunk.head, ret_r))
			break;
		if (is_top)
			w->heap->free_bytes += size_of(chunk.head);
		if (is_top || (is_fence && chunk.at + 2 * GLIBC_HEAD == segment->end))
			return segment->end;
		if (is_fence)
			return chunk.at;
		last = chunk;
		chunk.at += size_of(chunk.head);
	}
	return last.at ? last.at : chunk.at;
}

/* The top, which was read, ends where brk was when the arena was enlarged last. */
static uint64_t end_of_top(struct glibc_walk *w, const struct glibc_segment *segment)
{
	uint64_t head;

	if (!segment->top || !glibc_word(w, segment->top + 8, &head) ||
	    size_of(head) > segment->end - segment->top)
		return segment->end;
	return segment->top + size_of(head);
}

int glibc_walk_chunks(struct glibc_walk *w)
{
	int r = 0;

	vec_foreach(&w->segments, segment) {
		uint64_t known = walk_segment(w, segment, &r);

		if (r)
			return r;
		if (segment->is_main)
			w->main_end = known == segment->end ? end_of_top(w, segment) : known;
		w->heap->unread_bytes +=
			(segment->top && known != segment->end ? segment->top : segment->end) -
			known;
	}
	return 0;
}
