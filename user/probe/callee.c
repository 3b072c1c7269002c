/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/callee.h"

#include "probe/allocators.h"
#include "probe/insn.h"

/* Functions that jump to each other. */
#define MAX_DEPTH 4
/* What only passes a request on is short: bytes of one function, and of all. */
#define MAX_FUNCTION_BYTES 2048
#define MAX_BYTES 8192

struct search {
	struct insn_decoder *decoder;
	const struct callee_code *code;
	size_t bytes_left;
	const struct allocator_function *found;
	bool is_unsure; /* there are ways to another function, too */
};

static void reach(struct search *s, const char *name)
{
	const struct allocator_function *function = name ? allocator_function_find(name) : NULL;

	if (!function || (s->found && s->found != function))
		s->is_unsure = true;
	else
		s->found = function;
}

/*
 * Can it be a jump out of its function? On x86-64 instructions begin anywhere: bytes within one
 * that look so have no target that is a function's start.
 */
static bool looks_like_jump(const uint8_t *code, size_t len)
{
#ifdef __aarch64__
	return len >= 4 && (code[3] & 0xfc) == 0x14;
#else
	if (len < 5)
		return false;
	return code[0] == 0xe9 || (code[0] == 0x0f && (code[1] & 0xf0) == 0x80) ||
	       (code[0] == 0xff && code[1] == 0x25);
#endif
}

#ifdef __aarch64__
#define STEP 4
#else
#define STEP 1
#endif

static void follow(struct search *s, const struct insn *insn, unsigned int depth);

/* Every jump out of the function [start, end). */
static void look_through(struct search *s, uint64_t start, uint64_t end, unsigned int depth)
{
	uint8_t bytes[MAX_FUNCTION_BYTES];
	size_t len = end - start;
	struct insn insn;

	if (depth == MAX_DEPTH || len > sizeof(bytes) || len > s->bytes_left ||
	    s->code->read(s->code->ctx, start, bytes, len) != len) {
		s->is_unsure = true;
		return;
	}
	s->bytes_left -= len;
	for (size_t i = 0; i < len && !s->is_unsure; i += STEP) {
		if (!looks_like_jump(bytes + i, len - i) ||
		    insn_decode(s->decoder, bytes + i, len - i, start + i, &insn) < 0)
			continue;
		if (insn.target_kind == INSN_TARGET_DIRECT &&
		    (insn.target < start || insn.target >= end))
			follow(s, &insn, depth + 1);
		else if (insn.target_kind == INSN_TARGET_SLOT)
			follow(s, &insn, depth + 1);
	}
}

/* Where a call or jump goes. What is neither a function nor a linkage stub says nothing. */
static void follow(struct search *s, const struct insn *insn, unsigned int depth)
{
	uint8_t bytes[2 * INSN_MAX_LEN];
	const char *name;
	uint64_t slot, end;
	size_t n;

	if (insn->target_kind == INSN_TARGET_SLOT) {
		reach(s, s->code->slot_name(s->code->ctx, insn->target));
		return;
	}
	name = s->code->function(s->code->ctx, insn->target, &end);
	if (name && !allocator_function_find(name)) {
		look_through(s, insn->target, end, depth);
	} else if (name) {
		reach(s, name);
	} else {
		n = s->code->read(s->code->ctx, insn->target, bytes, sizeof(bytes));
		if (insn_stub_slot(s->decoder, bytes, n, insn->target, &slot))
			reach(s, s->code->slot_name(s->code->ctx, slot));
	}
}

/* The call that ends at `end`. On x86-64: e8 with a distance, ff 15 with that of a pointer. */
static bool find_call(struct search *s, uint64_t end, struct insn *ret_insn)
{
	static const uint8_t lengths[] = { 4, 5, 6 };
	uint8_t bytes[INSN_MAX_LEN];

	for (size_t i = 0; i < sizeof(lengths); i++) {
		size_t len = lengths[i];

		if (end < len || s->code->read(s->code->ctx, end - len, bytes, len) != len)
			continue;
		if (insn_decode(s->decoder, bytes, len, end - len, ret_insn) == 0 &&
		    ret_insn->flow == INSN_CALL && ret_insn->len == len &&
		    (ret_insn->target_kind == INSN_TARGET_DIRECT ||
		     ret_insn->target_kind == INSN_TARGET_SLOT))
			return true;
	}
	return false;
}

const struct allocator_function *callee_find(struct insn_decoder *decoder,
					     const struct callee_code *code, uint64_t return_addr)
{
	struct search s = { .decoder = decoder, .code = code, .bytes_left = MAX_BYTES };
	struct insn call;

	if (!find_call(&s, return_addr, &call))
		return NULL;
	follow(&s, &call, 0);
	return s.is_unsure ? NULL : s.found;
}
