/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi_pieces.h"

#include "base/vec.h"

static int piece_order(const void *a, const void *b)
{
	const struct cfi_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->fde < y->fde ? -1 : x->fde > y->fde;
}

void cfi_pieces_done(struct cfi_pieces *pieces)
{
	vec_done(pieces);
}

void cfi_pieces_settle(struct cfi_pieces *pieces)
{
	uint32_t covered = 0;
	size_t kept = 0;

	/* glibc's qsort() needs no room on the stack, and is fast where most is in order. */
	vec_sort(pieces, piece_order);
	for (size_t i = 0; i < pieces->len; i++) {
		struct cfi_piece piece = pieces->data[i];

		if (piece.start < covered)
			piece.start = covered;
		if (piece.start >= piece.end)
			continue;
		covered = piece.end;
		pieces->data[kept++] = piece;
	}
	pieces->len = kept;
}

/* Adds what of `more`, from its *next on, lies in [start, end). */
static int add_within(struct cfi_pieces *pieces, const struct cfi_pieces *more, size_t *next,
		      uint32_t start, uint32_t end)
{
	int r = 0;

	if (start >= end)
		return 0;
	while (*next < more->len && more->data[*next].end <= start)
		(*next)++;
	for (size_t i = *next; r == 0 && i < more->len && more->data[i].start < end; i++) {
		struct cfi_piece piece = more->data[i];

		if (piece.start < start)
			piece.start = start;
		if (piece.end > end)
			piece.end = end;
		r = vec_push(pieces, piece);
	}
	return r;
}

int cfi_pieces_fill(struct cfi_pieces *pieces, const struct cfi_pieces *more)
{
	struct cfi_pieces filled = { 0 };
	uint32_t covered = 0;
	size_t next = 0;
	int r;

	if (more->len == 0)
		return 0;
	r = vec_reserve(&filled, pieces->len + more->len);
	for (size_t i = 0; r == 0 && i < pieces->len; i++) {
		struct cfi_piece piece = pieces->data[i];

		r = add_within(&filled, more, &next, covered, piece.start);
		if (r == 0)
			r = vec_push(&filled, piece);
		covered = piece.end;
	}
	if (r == 0)
		r = add_within(&filled, more, &next, covered, UINT32_MAX);
	if (r < 0) {
		cfi_pieces_done(&filled);
		return r;
	}
	cfi_pieces_done(pieces);
	*pieces = filled;
	return 0;
}
