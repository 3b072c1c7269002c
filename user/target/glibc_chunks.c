/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chunks of an arena, one after the other. Whether one is free stands in the head of the next.
 */
#include "target/glibc_walk.h"

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
