/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that is known by its bytes, which no entry describes, or not as what it is. */
#include "elf/cfi/cfi_pieces.h"

#include "base/vec.h"

#include <stdbool.h>
#include <string.h>

/* How many bytes of a function that only makes the system call rt_sigreturn there are at `code`. */
static size_t signal_return_len(const uint8_t *code, size_t len)
{
	/* mov $15,%rax (%eax); syscall */
	static const uint8_t rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	if (len >= sizeof(rax) && code[0] == rax[0] && memcmp(code, rax, sizeof(rax)) == 0)
		return sizeof(rax);
	if (len >= sizeof(eax) && code[0] == eax[0] && memcmp(code, eax, sizeof(eax)) == 0)
		return sizeof(eax);
	return 0;
}

void cfi_mark_known(const struct cfi_input *in, struct cfi_pieces *pieces)
{
	vec_foreach(pieces, piece) {
		const struct cfi_bytes *text = cfi_text_of(in, in->base + piece->start);
		size_t skip = text ? (size_t)(in->base + piece->start - text->addr) : 0;

		if (text && text->data && signal_return_len(text->data + skip, text->len - skip))
			piece->source = CFI_IS_SIGNAL_RETURN;
	}
}

/*
 * Looks for signal returns in the addresses [start, end) of `text`, which nothing describes. There
 * are as many gaps as functions, most of a few bytes: memmem() takes longer to begin.
 */
static int search_signal_returns(const struct cfi_input *in, const struct cfi_bytes *text,
				 uint64_t start, uint64_t end, struct cfi_pieces *found)
{
	const uint8_t *code = text->data + (start - text->addr), *stop = code + (end - start);
	int r = 0;

	for (; r == 0 && code < stop; code++) {
		size_t len = signal_return_len(code, (size_t)(stop - code));
		uint32_t rel;

		if (len == 0)
			continue;
		rel = (uint32_t)(text->addr - in->base + (uint64_t)(code - text->data));
		/* The kernel jumps there: what is looked up is the byte before. */
		r = vec_push(found, (struct cfi_piece){ .start = rel ? rel - 1 : rel,
							.end = rel + (uint32_t)len,
							.source = CFI_IS_SIGNAL_RETURN });
	}
	return r;
}

/*
 * How many bytes of `code` are a clone or clone3 up to where the new thread leaves: information
 * that is right in the caller would be wrong in the new thread, so glibc's functions have none from
 * the system call on (sysdeps/unix/sysv/linux/x86_64/clone.S, clone3.S).
 *
 *   mov $nr,%eax (before `code`); syscall; test %rax,%rax; jl error; je new; ret
 */
static size_t clone_len(const uint8_t *code, size_t before, size_t len)
{
	static const uint8_t clone[] = { 0xb8, 56, 0, 0, 0 }, clone3[] = { 0xb8, 0xb3, 1, 0, 0 };
	static const uint8_t call[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0 };
	size_t i = sizeof(call);

	if (before < sizeof(clone) || len < sizeof(call) || memcmp(code, call, sizeof(call)) != 0 ||
	    (memcmp(code - sizeof(clone), clone, sizeof(clone)) != 0 &&
	     memcmp(code - sizeof(clone3), clone3, sizeof(clone3)) != 0))
		return 0;
	/* conditional jumps of 8 and of 32 bits */
	while (i < len && ((code[i] & 0xf0) == 0x70 ||
			   (code[i] == 0x0f && i + 1 < len && (code[i + 1] & 0xf0) == 0x80)))
		i += code[i] == 0x0f ? 6 : 2;
	if (i < len && code[i] == 0xc3)
		i++;
	return i < len ? i : len;
}

/* Looks for such a call at the start of the addresses [start, end) of `text`. */
static int search_clone(const struct cfi_input *in, const struct cfi_bytes *text, uint64_t start,
			uint64_t end, struct cfi_pieces *found)
{
	size_t at = start - text->addr, len = clone_len(text->data + at, at, end - start);
	uint32_t rel = (uint32_t)(start - in->base);

	if (len == 0)
		return 0;
	return vec_push(found, (struct cfi_piece){ .start = rel,
						   .end = rel + (uint32_t)len,
						   .source = CFI_IS_CLONE });
}

#define STUB_STEP 8
#define STUB_MOST 16

/*
 * How many bytes of a jump through a table there are at `code`, with what fills it up. GNU ld and
 * lld make such stubs for the functions that a static executable chooses at its start (relocations
 * R_X86_64_IRELATIVE), and describe none of them.
 *
 *   endbr64 (or none); bnd (or none); jmp *table(%rip); nop, or in lld's push $nr; jmp
 */
static size_t stub_len(const uint8_t *code, size_t len)
{
	static const struct {
		size_t len;
		uint8_t code[STUB_MOST], mask[STUB_MOST];
	} stubs[] = {
		{ 8, { 0xff, 0x25, 0, 0, 0, 0, 0x66, 0x90 }, { 1, 1, 0, 0, 0, 0, 1, 1 } },
		{ 16,
		  { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0, 0, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0 },
		  { 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1 } },
		{ 16,
		  { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0 },
		  { 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1 } },
		{ 16,
		  { 0xff, 0x25, 0, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9 },
		  { 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 } },
	};

	for (size_t i = 0; i < sizeof(stubs) / sizeof(stubs[0]); i++) {
		bool is_it = stubs[i].len <= len;

		for (size_t at = 0; is_it && at < stubs[i].len; at++)
			is_it = !stubs[i].mask[at] || code[at] == stubs[i].code[at];
		if (is_it)
			return stubs[i].len;
	}
	return 0;
}

static int search_stubs(const struct cfi_input *in, const struct cfi_bytes *text, uint64_t start,
			uint64_t end, struct cfi_pieces *found)
{
	uint64_t at = (start + STUB_STEP - 1) / STUB_STEP * STUB_STEP;
	int r = 0;

	while (r == 0 && at < end) {
		size_t len = stub_len(text->data + (at - text->addr), end - at);
		uint32_t rel = (uint32_t)(at - in->base);

		if (len > 0)
			r = vec_push(found, (struct cfi_piece){ .start = rel,
								.end = rel + (uint32_t)len,
								.source = CFI_IS_STUB });
		at += len > 0 ? len : STUB_STEP;
	}
	return r;
}

static int search_gap(const struct cfi_input *in, const struct cfi_bytes *text, uint64_t start,
		      uint64_t end, struct cfi_pieces *found)
{
	int r = search_clone(in, text, start, end, found);

	if (r == 0)
		r = search_stubs(in, text, start, end, found);
	return r < 0 ? r : search_signal_returns(in, text, start, end, found);
}

static int search_gaps(const struct cfi_input *in, const struct cfi_bytes *text,
		       const struct cfi_pieces *pieces, struct cfi_pieces *found)
{
	uint64_t covered = text->addr, end = text->addr + text->len;
	int r = 0;

	if (!text->data)
		return 0;
	for (size_t i = 0; r == 0 && i < pieces->len; i++) {
		uint64_t piece_start = in->base + pieces->data[i].start;
		uint64_t piece_end = in->base + pieces->data[i].end;

		if (piece_end <= covered)
			continue;
		if (piece_start >= end)
			break;
		if (piece_start > covered)
			r = search_gap(in, text, covered, piece_start, found);
		covered = piece_end;
	}
	if (r == 0 && covered < end)
		r = search_gap(in, text, covered, end, found);
	return r;
}

/* mov %r64,%rsp: 89 /r with rsp as the destination (Intel SDM vol. 2, MOV). */
static bool replaces_stack_pointer(const uint8_t *code, size_t len)
{
	return len >= 3 && (code[0] == 0x48 || code[0] == 0x4c) && code[1] == 0x89 &&
	       (code[2] & 0xc7) == 0xc4;
}

/*
 * A function that begins by leaving its stack is not called but returned to: makecontext puts
 * glibc's __start_context where a new stack begins. What is looked up is the byte before.
 */
static int search_stack_starts(const struct cfi_input *in, const struct cfi_pieces *pieces,
			       struct cfi_pieces *found)
{
	uint32_t covered = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < pieces->len; i++) {
		uint32_t start = pieces->data[i].start;
		const struct cfi_bytes *text = cfi_text_of(in, in->base + start);
		size_t skip = text ? (size_t)(in->base + start - text->addr) : 0;

		if (text && text->data && start > covered && skip > 0 &&
		    replaces_stack_pointer(text->data + skip, text->len - skip))
			r = vec_push(found, (struct cfi_piece){ .start = start - 1,
								.end = start,
								.source = CFI_IS_STACK_START });
		covered = pieces->data[i].end;
	}
	return r;
}

int cfi_add_known(const struct cfi_input *in, struct cfi_pieces *pieces)
{
	_cleanup_(cfi_pieces_done) struct cfi_pieces known = { 0 };
	const struct cfi_bytes *text = cfi_text_of(in, in->entry);
	uint64_t end = in->entry_end;
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n_text; i++)
		r = search_gaps(in, &in->text[i], pieces, &known);
	if (r == 0)
		r = search_stack_starts(in, pieces, &known);
	if (r < 0)
		return r;
	if (text && end > text->addr + text->len)
		end = text->addr + text->len;
	/* Up to code with information: what stands behind that is not part of the start. */
	for (size_t i = 0; i < pieces->len; i++) {
		uint64_t start = in->base + pieces->data[i].start;

		if (in->base + pieces->data[i].end <= in->entry || start >= end)
			continue;
		end = start < in->entry ? in->entry : start;
	}
	if (text && end > in->entry)
		r = vec_push(&known, (struct cfi_piece){ .start = (uint32_t)(in->entry - in->base),
							 .end = (uint32_t)(end - in->base),
							 .source = CFI_IS_STACK_START });
	if (r < 0)
		return r;
	cfi_pieces_settle(&known);
	return cfi_pieces_fill(pieces, &known);
}

/*
 * Code that GHC has made of Haskell. It has a stack of its own, and no information unless it was
 * built with -g; but the stack of C stays where the run-time's StgRun has left it, so that what
 * Haskell code calls has one and the same caller of C.
 */

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
