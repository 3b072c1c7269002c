/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_ghc.h"

#include "base/vec.h"

#include <stdbool.h>
#include <string.h>

/* StgRun saves six registers, the second of which is rbp, above what Haskell code may use. */
#define SAVED_BYTES 0x30
#define WORD_BYTES 8
/* A call and what it is told on the stack are no longer. */
#define CALL_BYTES 256
#define CHANGE_BYTES 4

/*
 * StgRun's begin (rts/StgCRun.c): then it jumps to Haskell code.
 *
 *   sub $0x30,%rsp; mov %rsp,%rax; sub $n,%rsp; mov %rbx,(%rax); mov %rbp,8(%rax)
 */
static bool is_stg_run(const uint8_t *code, size_t len, int32_t *ret_reserved)
{
	static const uint8_t begin[] = {
		0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec
	};
	static const uint8_t end[] = { 0x48, 0x89, 0x18, 0x48, 0x89, 0x68, 0x08 };
	const size_t number = sizeof(begin), behind = number + sizeof(*ret_reserved);

	if (len < behind + sizeof(end) || memcmp(code, begin, sizeof(begin)) != 0 ||
	    memcmp(code + behind, end, sizeof(end)) != 0)
		return false;
	memcpy(ret_reserved, code + number, sizeof(*ret_reserved));
	return *ret_reserved > 0 && *ret_reserved <= INT16_MAX;
}

/* StgRun has information, if not what Haskell code needs. */
static bool find_stg_run(const struct cfi_input *in, const struct cfi_pieces *pieces,
			 int32_t *ret_reserved)
{
	for (size_t i = 0; i < pieces->len; i++) {
		uint64_t addr = in->base + pieces->data[i].start;
		const struct cfi_bytes *text = cfi_text_of(in, addr);
		size_t skip = text ? (size_t)(addr - text->addr) : 0;

		if (text && text->data &&
		    is_stg_run(text->data + skip, text->len - skip, ret_reserved))
			return true;
	}
	return false;
}

struct gap {
	const uint8_t *code;
	size_t len;
	uint32_t rel; /* of `code` */
	int32_t reserved;
	struct cfi_pieces *found;
};

/* pushed: bytes that are on the stack of C for a call. */
static int add_piece(const struct gap *gap, size_t start, size_t end, int32_t pushed)
{
	struct abi_unwind_rule rule = {
		.kind = ABI_UNWIND_SP,
		.offset = pushed + gap->reserved + SAVED_BYTES + WORD_BYTES,
		.bp = ABI_UNWIND_BP_AT_CFA,
		.bp_offset = -SAVED_BYTES,
	};

	if (start >= end)
		return 0;
	return vec_push(gap->found, (struct cfi_piece){ .start = gap->rel + (uint32_t)start,
							.end = gap->rel + (uint32_t)end,
							.source = CFI_FROM_CODE,
							.rule = rule });
}

/* sub $n,%rsp (0xec) or add $n,%rsp (0xc4): n */
static int32_t change_at(const struct gap *gap, size_t at, uint8_t modrm)
{
	const uint8_t *code = gap->code + at;

	if (gap->len - at < CHANGE_BYTES || code[0] != 0x48 || code[1] != 0x83 || code[2] != modrm)
		return 0;
	return (int8_t)code[3] > 0 ? (int8_t)code[3] : 0;
}

/*
 * Where the `sub` behind which the call stands that `add` follows, which gives back the same, or
 * more if the call has been told something on the stack: then it is but the call. What is between
 * that has changed rsp in other ways is not looked at.
 */
static size_t start_of_call(const struct gap *gap, size_t add, int32_t n)
{
	size_t most = add < CALL_BYTES ? add : CALL_BYTES;

	for (size_t back = CHANGE_BYTES; back <= most; back++) {
		if (change_at(gap, add - back, 0xc4))
			break;
		if (change_at(gap, add - back, 0xec) == n)
			return add - back + CHANGE_BYTES;
	}
	return add < 2 ? 0 : add - 2;
}

/* GHC's own code generator changes rsp for calls of C alone, and puts it back right behind them. */
static int add_gap(const struct gap *gap)
{
	size_t done = 0;
	int r = 0;

	for (size_t at = 0; r == 0 && at + CHANGE_BYTES <= gap->len; at++) {
		int32_t n = change_at(gap, at, 0xc4);
		size_t start = n ? start_of_call(gap, at, n) : 0;

		if (!n || start < done)
			continue;
		r = add_piece(gap, done, start, 0);
		if (r == 0)
			r = add_piece(gap, start, at, n);
		done = at;
	}
	return r < 0 ? r : add_piece(gap, done, gap->len, 0);
}

static int add_gaps(const struct cfi_input *in, const struct cfi_bytes *text,
		    const struct cfi_pieces *pieces, struct gap *gap)
{
	uint64_t covered = text->addr, end = text->addr + text->len;
	int r = 0;

	for (size_t i = 0; r == 0 && i <= pieces->len && covered < end; i++) {
		uint64_t start = i < pieces->len ? in->base + pieces->data[i].start : end;
		uint64_t next = i < pieces->len ? in->base + pieces->data[i].end : end;

		if (next <= covered && i < pieces->len)
			continue;
		if (start > end)
			start = end;
		if (start > covered) {
			gap->code = text->data + (covered - text->addr);
			gap->len = (size_t)(start - covered);
			gap->rel = (uint32_t)(covered - in->base);
			r = add_gap(gap);
		}
		covered = next;
	}
	return r;
}

int cfi_add_ghc(const struct cfi_input *in, struct cfi_pieces *pieces)
{
	_cleanup_(cfi_pieces_done) struct cfi_pieces found = { 0 };
	struct gap gap = { .found = &found };
	int r = 0;

	if (!find_stg_run(in, pieces, &gap.reserved))
		return 0;
	for (size_t i = 0; r == 0 && i < in->n_text; i++)
		if (in->text[i].data)
			r = add_gaps(in, &in->text[i], pieces, &gap);
	if (r < 0)
		return r;
	cfi_pieces_settle(&found);
	return cfi_pieces_fill(pieces, &found);
}
