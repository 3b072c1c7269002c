/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame rules of functions that have no call frame information (musl, hand-written assembly),
 * from their machine code: each path from a function's start is followed, and where rsp and the
 * caller's rbp are is kept for each instruction. A function whose paths contradict each other, or
 * one of whose returns does not find the stack as it was at the start, gets no rules.
 */
#include "elf/cfi/cfi_pieces.h"

#include "base/vec.h"
#include "elf/cfi/x86_frame.h"

#include <errno.h>
#include <stdlib.h>

/* Texts that are larger are not looked at, nor those with more code that has no information. */
#define MOST_TEXT (32UL << 20)
#define MOST_CODE (2UL << 20)
/* Gaps up to this size are the filling between two functions. */
#define FILLING 64
/* Of less code than this share of a text, the rest is not searched for calls: it takes longer. */
#define SMALL_SHARE 8
#define NO_FUNCTION 0
/* Each pass finds functions that the last took for a part of another; musl's libc.so takes 3. */
#define MOST_PASSES 12
/* Of a walk over all jumps between functions; each goes one jump further. */
#define MOST_ROUNDS 64

struct function {
	uint32_t start;	    /* in the text */
	bool returns;	    /* with the stack as at the start */
	bool jumps;	    /* to an address that is not known */
	bool ends;	    /* returns, goes to code that is not followed, or cannot be decoded */
	bool is_wrong;	    /* its paths contradict each other */
	bool never_returns; /* as the last pass has found */
};

/* A jump from one function into another: if that one is wrong, so is the first. */
struct tail {
	uint32_t from, to;
};

struct follower {
	const struct cfi_input *in;
	const struct cfi_pieces *pieces;
	const struct cfi_bytes *text;
	uint32_t *frame_at; /* by byte: 0, or 1 + the index of the frame before its instruction */
	uint32_t *owner_at; /* by byte: 0, or the index of the function that was followed there */
	VEC(struct x86_frame) frames;
	VEC(uint32_t) places;		/* of the frames: in the text */
	VEC(struct function) functions; /* the first is none */
	VEC(struct tail) tails;
	VEC(uint32_t) todo; /* instructions */
	bool has_new_parts; /* a function was found that is a part of another in this pass */
};

static void follower_done(struct follower *f)
{
	free(f->frame_at);
	free(f->owner_at);
	vec_done(&f->frames);
	vec_done(&f->places);
	vec_done(&f->functions);
	vec_done(&f->tails);
	vec_done(&f->todo);
}

/* Where the gap ends that the byte is in; 0: a piece has it. */
static uint32_t gap_end(const struct follower *f, uint32_t at)
{
	uint64_t rel = f->text->addr - f->in->base + at, end = f->text->len;
	size_t low = partition_point(f->pieces->len, i, f->pieces->data[i].end <= rel);

	if (at >= f->text->len)
		return 0;
	if (low < f->pieces->len) {
		if (f->pieces->data[low].start <= rel)
			return 0;
		if (f->pieces->data[low].start - rel < end - at)
			end = at + (f->pieces->data[low].start - rel);
	}
	return (uint32_t)end;
}

/* The instruction at `at`, if all of it is in a gap. */
static bool decode(const struct follower *f, uint32_t at, struct x86_insn *ret)
{
	uint32_t end = gap_end(f, at);

	return end > 0 && x86_decode(f->text->data + at, end - at, ret);
}

static bool is_start(const struct follower *f, uint32_t at)
{
	uint32_t owner = f->owner_at[at];

	return owner != NO_FUNCTION && f->functions.data[owner].start == at;
}

static void mark_wrong(struct follower *f, uint32_t function)
{
	f->functions.data[function].is_wrong = true;
}

static int put_frame(struct follower *f, uint32_t owner, uint32_t at, const struct x86_frame *frame)
{
	int r = vec_push(&f->frames, *frame);

	if (r == 0)
		r = vec_push(&f->places, at);
	if (r < 0)
		return r;
	f->owner_at[at] = owner;
	f->frame_at[at] = (uint32_t)f->frames.len;
	return 0;
}

/* A function starts there, if it is in a gap and was not known. */
static int add_function(struct follower *f, uint64_t at)
{
	const struct function function = { .start = (uint32_t)at };
	uint32_t owner;
	int r;

	if (at >= f->text->len || gap_end(f, (uint32_t)at) == 0 || is_start(f, (uint32_t)at))
		return 0;
	r = vec_push(&f->functions, function);
	if (r < 0)
		return r;
	owner = f->owner_at[at];
	if (owner == NO_FUNCTION)
		return put_frame(f, (uint32_t)f->functions.len - 1, (uint32_t)at,
				 &X86_FRAME_AT_START);
	mark_wrong(f, owner);
	mark_wrong(f, (uint32_t)f->functions.len - 1);
	/* So it is known: a call to there which is its own first instruction adds it only once. */
	f->owner_at[at] = (uint32_t)f->functions.len - 1;
	f->has_new_parts = true;
	return 0;
}

/* A path of `owner` comes into another function, or to one of its own instructions again. */
static int meet(struct follower *f, uint32_t owner, uint32_t at, const struct x86_frame *frame)
{
	struct x86_frame *there = &f->frames.data[f->frame_at[at] - 1];
	uint32_t other = f->owner_at[at];
	bool changed = false;

	if (!x86_frame_join(there, frame, &changed) || (changed && other != owner)) {
		mark_wrong(f, owner);
		mark_wrong(f, other);
		return 0;
	}
	if (changed)
		return vec_push(&f->todo, at);
	return other == owner ? 0 : vec_push(&f->tails, (struct tail){ owner, other });
}

/* A path of `owner` comes to `at`, in this frame. */
static int come_to(struct follower *f, uint32_t owner, uint64_t at, const struct x86_frame *frame)
{
	int r;

	if (at >= f->text->len || gap_end(f, (uint32_t)at) == 0) {
		f->functions.data[owner].ends = true;
		return 0;
	}
	if (f->owner_at[at] != NO_FUNCTION)
		return meet(f, owner, (uint32_t)at, frame);
	r = put_frame(f, owner, (uint32_t)at, frame);
	return r < 0 ? r : vec_push(&f->todo, (uint32_t)at);
}

/* lea disp(%rip): the address of a function, perhaps. */
static int add_if_address(struct follower *f, const struct x86_insn *insn, uint32_t next)
{
	if (insn->map != X86_ONE_BYTE || insn->opcode != 0x8d || (insn->modrm & 0xc7) != 5)
		return 0;
	return add_function(f, (uint64_t)next + (uint64_t)(int64_t)insn->disp);
}

static bool never_returns(const struct follower *f, uint64_t at)
{
	return at < f->text->len && is_start(f, (uint32_t)at) &&
	       f->functions.data[f->owner_at[at]].never_returns;
}

static int follow_flow(struct follower *f, uint32_t owner, const struct x86_insn *insn,
		       uint32_t next, const struct x86_frame *frame)
{
	uint64_t there = (uint64_t)next + (uint64_t)insn->imm;
	enum x86_flow flow = x86_flow(insn);
	int r = 0;

	switch (flow) {
	case X86_RETURN:
		if (x86_frame_is_at_start(frame))
			f->functions.data[owner].returns = true;
		else if (!frame->outermost)
			mark_wrong(f, owner);
		return 0;
	case X86_JUMP_ANYWHERE:
		f->functions.data[owner].jumps |= x86_frame_is_at_start(frame);
		f->functions.data[owner].ends = true;
		return 0;
	case X86_STOP:
		return 0;
	case X86_JUMP:
		return come_to(f, owner, there, frame);
	case X86_BRANCH:
		r = come_to(f, owner, there, frame);
		break;
	case X86_CALL:
		r = add_function(f, there);
		if (r == 0 && never_returns(f, there))
			return 0;
		break;
	default:
		r = add_if_address(f, insn, next);
	}
	/* What is called does not return, if the next function is behind the call. */
	if (r < 0 || (next < f->text->len && is_start(f, next) && f->owner_at[next] != owner))
		return r;
	return come_to(f, owner, next, frame);
}

static int follow(struct follower *f, uint32_t owner)
{
	struct x86_frame frame;
	struct x86_insn insn;
	int r = vec_push(&f->todo, f->functions.data[owner].start);

	while (r == 0 && f->todo.len > 0) {
		uint32_t at = f->todo.data[--f->todo.len];

		frame = f->frames.data[f->frame_at[at] - 1];
		if (!decode(f, at, &insn)) {
			f->functions.data[owner].ends = true;
			continue;
		}
		if (!x86_frame_step(&frame, &insn)) {
			mark_wrong(f, owner);
			continue;
		}
		r = follow_flow(f, owner, &insn, at + insn.len, &frame);
	}
	return r;
}

/* Calls from code with information. */
static int add_called(struct follower *f)
{
	uint64_t first = f->text->addr - f->in->base;
	struct x86_insn insn;
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->pieces->len; i++) {
		const struct cfi_piece *piece = &f->pieces->data[i];
		uint64_t at = piece->start - first, end = piece->end - first;

		if (piece->start < first || end > f->text->len)
			continue;
		for (; r == 0 && at < end; at += insn.len) {
			if (!x86_decode(f->text->data + at, end - at, &insn))
				break;
			if (x86_flow(&insn) == X86_CALL)
				r = add_function(f, at + insn.len + (uint64_t)insn.imm);
		}
	}
	return r;
}

/*
 * A function that never returns, and leaves by a jump to an unknown address, may be one of a
 * language that does not use the stack as C does (GHC's procedures).
 */
static void judge_functions(struct follower *f)
{
	bool changed = true;

	vec_foreach(&f->functions, function)
		if (function->jumps && !function->returns)
			function->is_wrong = true;
	for (int round = 0; changed; round++) {
		changed = false;
		vec_foreach(&f->tails, tail) {
			struct function *from = &f->functions.data[tail->from];

			if (!from->is_wrong &&
			    (f->functions.data[tail->to].is_wrong || round >= MOST_ROUNDS))
				changed = from->is_wrong = true;
		}
	}
}

static bool rule_of(const struct x86_frame *frame, struct abi_unwind_rule *ret)
{
	*ret = (struct abi_unwind_rule){ .kind = ABI_UNWIND_END };
	if (frame->outermost)
		return true;
	if (frame->saved) {
		ret->bp = ABI_UNWIND_BP_AT_CFA;
		ret->bp_offset = (int16_t)-frame->saved;
	}
	/* What V8's builtins call takes its arguments off the stack: rbp is right all the same. */
	ret->kind = frame->bp != X86_UNKNOWN ? ABI_UNWIND_BP : ABI_UNWIND_SP;
	ret->offset = frame->bp != X86_UNKNOWN ? frame->bp : frame->sp;
	return ret->offset != X86_UNKNOWN && frame->saved <= INT16_MAX;
}

/* The pieces of what was followed, by address. */
static int collect_pieces(const struct follower *f, struct cfi_pieces *found)
{
	uint64_t first = f->text->addr - f->in->base;
	struct abi_unwind_rule rule;
	struct x86_insn insn;
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < f->text->len; at++) {
		if (!f->frame_at[at] || f->functions.data[f->owner_at[at]].is_wrong ||
		    !rule_of(&f->frames.data[f->frame_at[at] - 1], &rule) || !decode(f, at, &insn))
			continue;
		r = vec_push(found, (struct cfi_piece){ .start = (uint32_t)(first + at),
							.end = (uint32_t)(first + at + insn.len),
							.source = CFI_FROM_CODE,
							.rule = rule });
	}
	return r;
}

/* Functions that only call or loop for ever: what is behind a call of theirs is another one's. */
static void find_never_returning(struct follower *f)
{
	bool changed = true;

	vec_foreach(&f->functions, function)
		function->ends |= function->returns || function->is_wrong;
	for (int round = 0; changed; round++) {
		changed = false;
		vec_foreach(&f->tails, tail) {
			struct function *from = &f->functions.data[tail->from];

			if (!from->ends &&
			    (f->functions.data[tail->to].ends || round >= MOST_ROUNDS))
				changed = from->ends = true;
		}
	}
	vec_foreach(&f->functions, function) {
		f->has_new_parts |= function->never_returns == function->ends;
		function->never_returns = !function->ends;
	}
}

/* Forgets all but where functions start, and which never return. */
static int begin_pass(struct follower *f)
{
	int r = 0;

	vec_foreach(&f->places, place)
		f->owner_at[*place] = f->frame_at[*place] = 0;
	f->frames.len = f->places.len = f->tails.len = 0;
	f->has_new_parts = false;
	for (uint32_t i = 1; r == 0 && i < f->functions.len; i++) {
		struct function *function = &f->functions.data[i];

		*function = (struct function){ .start = function->start,
					       .never_returns = function->never_returns };
		r = put_frame(f, i, function->start, &X86_FRAME_AT_START);
	}
	return r;
}

/* All functions of a text, to where no more are found. */
static int follow_all(struct follower *f)
{
	int r = 0;

	f->has_new_parts = true;
	for (int pass = 0; r == 0 && f->has_new_parts && pass < MOST_PASSES; pass++) {
		r = begin_pass(f);
		for (size_t i = 1; r == 0 && i < f->functions.len; i++)
			r = follow(f, (uint32_t)i);
		find_never_returning(f);
	}
	return r;
}

/* bytes: of code without information */
static int follow_text(struct follower *f, size_t bytes, struct cfi_pieces *found)
{
	int r;

	f->frame_at = calloc(f->text->len, sizeof(*f->frame_at));
	f->owner_at = calloc(f->text->len, sizeof(*f->owner_at));
	if (!f->frame_at || !f->owner_at)
		return -ENOMEM;
	r = vec_push(&f->functions, (struct function){ 0 });
	for (size_t i = 0; r == 0 && i < f->in->n_starts; i++)
		r = add_function(f, f->in->starts[i] - f->text->addr);
	if (r == 0 && bytes >= f->text->len / SMALL_SHARE)
		r = add_called(f);
	if (r == 0)
		r = add_function(f, f->in->entry - f->text->addr);
	if (r == 0)
		r = follow_all(f);
	if (r < 0)
		return r;
	judge_functions(f);
	return collect_pieces(f, found);
}

static size_t code_without_information(const struct cfi_input *in, const struct cfi_pieces *pieces,
				       const struct cfi_bytes *text)
{
	uint64_t covered = text->addr - in->base, end = covered + text->len;
	size_t bytes = 0;

	for (size_t i = 0; i < pieces->len && pieces->data[i].start < end; i++) {
		if (pieces->data[i].end <= covered)
			continue;
		if (pieces->data[i].start > covered + FILLING)
			bytes += pieces->data[i].start - covered;
		covered = pieces->data[i].end;
	}
	return end > covered + FILLING ? bytes + (end - covered) : bytes;
}

int cfi_add_code(const struct cfi_input *in, struct cfi_pieces *pieces)
{
	_cleanup_(cfi_pieces_done) struct cfi_pieces found = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n_text; i++) {
		_cleanup_(follower_done) struct follower f = { .in = in,
							       .pieces = pieces,
							       .text = &in->text[i] };
		size_t bytes = code_without_information(in, pieces, &in->text[i]);

		if (in->text[i].data && in->text[i].len <= MOST_TEXT && bytes > 0 &&
		    bytes <= MOST_CODE)
			r = follow_text(&f, bytes, &found);
	}
	if (r < 0)
		return r;
	cfi_pieces_settle(&found);
	return cfi_pieces_fill(pieces, &found);
}
