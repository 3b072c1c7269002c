/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a walk (bpf/unwind_steps.h), each case by both programs that are made of them: that
 * of BPF, compiled for this machine, and the library's. Each walks twice: with the stack of before.
 */
#include "tests/unit/library_walk.h"
#include "tests/unit/random_numbers.h"
#include "tests/unit/unwind_fixture.h"

/* Of the library; the BPF programs' are the fixture's tables. */
static bool library_rule(uint64_t address, struct abi_unwind_rule *ret)
{
	if (address - OTHER_CODE < 4096) {
		*ret = f.rules[0];
		return true;
	}
	if (address - CODE >= FUNCTIONS * 64)
		return false;
	*ret = f.rules[1 + (address - CODE) / 64];
	return true;
}

static void assert_same(const struct library_stack *library)
{
	const struct abi_ev_stack *ev = &f.scratch.ev;

	path_copy_frames(scratch_tell(&f.scratch));
	assert_int_equal(ABI_STACK_CUT(ev->flags), library->cut);
	assert_int_equal(ev->frames, library->frames);
	assert_memory_equal(ev->frame, library->frame, ev->frames * sizeof(ev->frame[0]));
	for (uint32_t i = 0; i < ev->frames; i++)
		assert_int_equal(ev->exact[i / 64] >> i % 64 & 1,
				 library->exact[i / 64] >> i % 64 & 1);
	assert_int_equal(!!(ev->flags & ABI_STACK_FRAME_POINTERS), library->any_guided);
}

/* What the library has found, as the programs have. */
static struct library_stack walk_twice(const struct library_registers *from)
{
	struct library_stack stack;

	f.host.registers.rbx = from->bx;
	for (int i = 0; i < 2; i++) {
		library_walk(from, &stack);
		walk(from->pc, from->sp, from->bp);
		assert_same(&stack);
	}
	return stack;
}

static struct library_stack walk_new(uint64_t pc, uint64_t sp, uint64_t bp, uint64_t bx)
{
	const struct library_registers from = { pc, sp, bp, bx };

	host_use(&f.host);
	library_walk_begin(library_rule);
	return walk_twice(&from);
}

static void assert_stack(const struct library_stack *stack, enum abi_stack_cut cut,
			 const uint64_t *frames, size_t n)
{
	assert_int_equal(stack->cut, cut);
	assert_int_equal(stack->frames, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stack->frame[i], frames[i]);
}

#define RULE_SP (STACK + 4096)
#define RULE_BP (RULE_SP + 512)

static const struct {
	struct abi_unwind_rule rule;
	uint64_t pc, cfa;
	uint64_t bp_slot;  /* 0: rbp is the caller's already */
	uint64_t cfa_slot; /* 0, or has the CFA - then */
	int64_t then;
} rule_cases[] = {
	{ { 8, ABI_UNWIND_SP, ABI_UNWIND_BP_SAME, 0, 0 }, RETURN_TO(0), RULE_SP + 8, 0, 0, 0 },
	{ { 48, ABI_UNWIND_SP, ABI_UNWIND_BP_AT_CFA, 0, -16 },
	  RETURN_TO(0),
	  RULE_SP + 48,
	  RULE_SP + 32,
	  0,
	  0 },
	{ { 2040, ABI_UNWIND_SP, ABI_UNWIND_BP_AT_CFA, 0, -56 },
	  RETURN_TO(0),
	  RULE_SP + 2040,
	  RULE_SP + 1984,
	  0,
	  0 },
	/* no short codes */
	{ { 2048, ABI_UNWIND_SP, ABI_UNWIND_BP_SAME, 0, 0 },
	  RETURN_TO(0),
	  RULE_SP + 2048,
	  0,
	  0,
	  0 },
	{ { 1024, ABI_UNWIND_SP, ABI_UNWIND_BP_AT_CFA, 0, -512 },
	  RETURN_TO(0),
	  RULE_SP + 1024,
	  RULE_SP + 512,
	  0,
	  0 },
	{ { 9000, ABI_UNWIND_SP, ABI_UNWIND_BP_AT_CFA, 0, -16 },
	  RETURN_TO(0),
	  RULE_SP + 9000,
	  RULE_SP + 8984,
	  0,
	  0 },
	{ { 44, ABI_UNWIND_SP, ABI_UNWIND_BP_SAME, 0, 0 }, RETURN_TO(0), RULE_SP + 44, 0, 0, 0 },
	{ { 16, ABI_UNWIND_BP, ABI_UNWIND_BP_AT_CFA, 0, -16 },
	  RETURN_TO(0),
	  RULE_BP + 16,
	  RULE_BP,
	  0,
	  0 },
	{ { 64, ABI_UNWIND_BP, ABI_UNWIND_BP_AT_BP, 0, 8 },
	  RETURN_TO(0),
	  RULE_BP + 64,
	  RULE_BP + 8,
	  0,
	  0 },
	{ { ABI_UNWIND_DEREF(-8, 0), ABI_UNWIND_BP_DEREF, ABI_UNWIND_BP_AT_BP, 0, 0 },
	  RETURN_TO(0),
	  RULE_BP + 96,
	  RULE_BP,
	  RULE_BP - 8,
	  0 },
	{ { ABI_UNWIND_DEREF(0, 16), ABI_UNWIND_BP_DEREF, ABI_UNWIND_BP_AT_CFA, 0, -16 },
	  RETURN_TO(0),
	  RULE_BP + 96,
	  RULE_BP + 80,
	  RULE_BP,
	  16 },
	{ { ABI_UNWIND_DEREF(40, 8), ABI_UNWIND_SP_DEREF, ABI_UNWIND_BP_AT_CFA, 0, -24 },
	  RETURN_TO(0),
	  RULE_SP + 96,
	  RULE_SP + 72,
	  RULE_SP + 40,
	  8 },
	{ { ABI_UNWIND_DEREF(40, -8), ABI_UNWIND_SP_DEREF, ABI_UNWIND_BP_SAME, 0, 0 },
	  RETURN_TO(0),
	  RULE_SP + 96,
	  0,
	  RULE_SP + 40,
	  -8 },
	/* PLT entries, before and behind the push */
	{ { 8, ABI_UNWIND_PLT, ABI_UNWIND_BP_SAME, 0, 11 },
	  FUNCTION(0) + 17,
	  RULE_SP + 8,
	  0,
	  0,
	  0 },
	{ { 8, ABI_UNWIND_PLT, ABI_UNWIND_BP_SAME, 0, 11 },
	  FUNCTION(0) + 27,
	  RULE_SP + 16,
	  0,
	  0,
	  0 },
};

/*
 * Function 0 is called by function 1, whose CFA is at rbp + 16 and which function 2 has called,
 * where the stack begins: that is found if both the CFA and rbp of function 0 are.
 */
static void make_rule_case(size_t i, uint64_t caller_bp)
{
	uint64_t to = RETURN_TO(1);

	memset(f.stack, 0xcc, STACK_BYTES);
	f.rules[1] = rule_cases[i].rule;
	rule(1, ABI_UNWIND_BP, 16, ABI_UNWIND_BP_AT_CFA, -16);
	rule(2, ABI_UNWIND_END, 0, 0, 0);
	/* a cfa that is no multiple of 8 */
	memcpy((uint8_t *)f.stack + (rule_cases[i].cfa - 8 - STACK), &to, sizeof(to));
	poke(caller_bp + 8, RETURN_TO(2));
	if (rule_cases[i].bp_slot)
		poke(rule_cases[i].bp_slot, caller_bp);
	if (rule_cases[i].cfa_slot)
		poke(rule_cases[i].cfa_slot, rule_cases[i].cfa - (uint64_t)rule_cases[i].then);
}

/* From function 0, and where a signal has interrupted it, whose handler returns to function 3. */
static void each_kind_of_rule_finds_the_caller_and_its_frame_pointer(void **state)
{
	const uint64_t sp = RULE_SP, handler = STACK + 0x10000, caller_bp = sp + 0x4000;
	(void)state;

	for (size_t i = 0; i < sizeof(rule_cases) / sizeof(rule_cases[0]); i++) {
		const uint64_t frames[] = { RETURN_TO(3), rule_cases[i].pc, RETURN_TO(1),
					    RETURN_TO(2) };
		uint64_t before = rule_cases[i].bp_slot ? RULE_BP : caller_bp;
		struct library_stack stack;

		make_rule_case(i, caller_bp);
		rule(3, ABI_UNWIND_SIGNAL, 40, 0, 0);
		signal_frame(handler, rule_cases[i].pc, sp, before);
		stack = walk_new(RETURN_TO(3), handler, 0, 0);
		assert_stack(&stack, ABI_CUT_NONE, frames, 4);
		assert_int_equal(stack.exact[0], 3);
		assert_false(stack.any_guided);
		if (rule_cases[i].rule.kind == ABI_UNWIND_PLT)
			continue; /* nothing returns there */
		stack = walk_new(rule_cases[i].pc, sp, before, 0);
		assert_stack(&stack, ABI_CUT_NONE, frames + 1, 3);
		assert_int_equal(stack.exact[0], 0);
	}
}

#define CAUSE_SP (STACK + 256)
#define STACK_END (STACK + STACK_BYTES)

static const struct {
	struct abi_unwind_rule rule;
	uint64_t pc, sp, bp, word; /* word: at [sp] */
	enum abi_stack_cut cut;
	uint32_t frames;
} cause_cases[] = {
	{ { 8, ABI_UNWIND_SP, 0, 0, 0 }, RETURN_TO(0), CAUSE_SP, 0, 0, ABI_CUT_NONE, 1 },
	{ { 8, ABI_UNWIND_SP, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  0,
	  0x1234567,
	  ABI_CUT_NO_MAPPING,
	  2 },
	{ { 8, ABI_UNWIND_SP, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  0,
	  OTHER_CODE + 9,
	  ABI_CUT_NO_CFI,
	  2 },
	{ { 0, ABI_UNWIND_NONE, 0, 0, 0 }, 0, CAUSE_SP, 0, 0, ABI_CUT_NO_MAPPING, 1 },
	{ { 0, ABI_UNWIND_NONE, 0, 0, 0 }, RETURN_TO(0), CAUSE_SP, 0, 0, ABI_CUT_NO_CFI, 1 },
	{ { 0, ABI_UNWIND_NONE, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  CAUSE_SP - 8,
	  0,
	  ABI_CUT_NO_CFI,
	  1 },
	{ { 0, ABI_UNWIND_NONE, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  CAUSE_SP + 4,
	  0,
	  ABI_CUT_NO_CFI,
	  1 },
	{ { 0, ABI_UNWIND_NONE, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  STACK_END - 8,
	  0,
	  ABI_CUT_NO_CFI,
	  1 },
	{ { 0, ABI_UNWIND_UNSUPPORTED, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  CAUSE_SP,
	  0,
	  ABI_CUT_UNSUPPORTED,
	  1 },
	{ { 0, 200, 0, 0, 0 }, RETURN_TO(0), CAUSE_SP, CAUSE_SP, 0, ABI_CUT_UNSUPPORTED, 1 },
	{ { 8, ABI_UNWIND_SP, 0, 0, 0 }, RETURN_TO(0), STACK_END, 0, 0, ABI_CUT_UNREADABLE, 1 },
	{ { 4096, ABI_UNWIND_SP, 0, 0, 0 },
	  RETURN_TO(0),
	  STACK_END - 8,
	  0,
	  0,
	  ABI_CUT_UNREADABLE,
	  1 },
	{ { 8, ABI_UNWIND_BP_DEREF, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  STACK_END,
	  0,
	  ABI_CUT_UNREADABLE,
	  1 },
	/* the kernel would take it for no address at all */
	{ { -8, ABI_UNWIND_BP_DEREF, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  8,
	  0,
	  ABI_CUT_UNREADABLE,
	  1 },
	{ { 40, ABI_UNWIND_SIGNAL, 0, 0, 0 },
	  RETURN_TO(0),
	  STACK_END - 64,
	  0,
	  0,
	  ABI_CUT_UNREADABLE,
	  1 },
	{ { 16, ABI_UNWIND_BP, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  CAUSE_SP - 16,
	  0,
	  ABI_CUT_NOT_RISING,
	  1 },
	{ { 16, ABI_UNWIND_BP, 0, 0, 0 }, RETURN_TO(0), CAUSE_SP, 0, 0, ABI_CUT_NOT_RISING, 1 },
	{ { -8, ABI_UNWIND_SP, 0, 0, 0 }, RETURN_TO(0), CAUSE_SP, 0, 0, ABI_CUT_NOT_RISING, 1 },
	/* half of the addresses further: no sum of two addresses is one */
	{ { 16, ABI_UNWIND_BP, 0, 0, 0 },
	  RETURN_TO(0),
	  CAUSE_SP,
	  1ULL << 63 | CAUSE_SP,
	  0,
	  ABI_CUT_NOT_RISING,
	  1 },
};

static void the_cause_of_a_cut_is_told(void **state)
{
	(void)state;

	for (size_t i = 0; i < sizeof(cause_cases) / sizeof(cause_cases[0]); i++) {
		struct library_stack stack;

		memset(f.stack, 0, STACK_BYTES);
		poke(CAUSE_SP, cause_cases[i].word);
		f.rules[1] = cause_cases[i].rule;
		stack = walk_new(cause_cases[i].pc, cause_cases[i].sp, cause_cases[i].bp, 0);
		assert_int_equal(stack.cut, cause_cases[i].cut);
		assert_int_equal(stack.frames, cause_cases[i].frames);
	}
}

/* Node's code, say: the stack is whole when information takes over where it began. */
static void code_without_information_is_passed_by_its_frame_pointer(void **state)
{
	const uint64_t sp = STACK + 32, bp = STACK + 64, next = STACK + 160;
	struct library_stack stack;
	const uint64_t expected[] = { OTHER_CODE + 40, 0xdeadbeef, RETURN_TO(1), RETURN_TO(2) };
	(void)state;

	poke(bp, next);
	poke(bp + 8, 0xdeadbeef); /* code of a run-time: in no mapping */
	poke(next, STACK + 320);
	poke(next + 8, RETURN_TO(1));
	rule(1, ABI_UNWIND_SP, 32, ABI_UNWIND_BP_SAME, 0);
	poke(next + 16 + 24, RETURN_TO(2));
	rule(2, ABI_UNWIND_END, 0, 0, 0);
	stack = walk_new(OTHER_CODE + 40, sp, bp, 0);
	assert_stack(&stack, ABI_CUT_NONE, expected, 4);
	assert_true(stack.any_guided);
	/* a return address of 0 behind frame pointers proves nothing */
	rule(2, ABI_UNWIND_SP, 8, ABI_UNWIND_BP_SAME, 0);
	assert_int_equal(walk_new(OTHER_CODE + 40, sp, bp, 0).cut, ABI_CUT_NO_CFI);
}

/* The handler runs on a stack of its own, above the one that was interrupted. */
static void behind_a_signal_frame_the_interrupted_code_is_looked_up_exactly(void **state)
{
	const uint64_t handler = STACK + 0x10000, interrupted = STACK + 256;
	const uint64_t expected[] = { RETURN_TO(1), RETURN_TO(2), FUNCTION(4), RETURN_TO(5) };
	struct library_stack stack;
	(void)state;

	rule(1, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	poke(handler + 8, RETURN_TO(2));
	rule(2, ABI_UNWIND_SIGNAL, 40, 0, 0);
	signal_frame(handler + 16, FUNCTION(4), interrupted, 0x1111);
	/* one byte before is another function, which would not lead on */
	rule(3, ABI_UNWIND_UNSUPPORTED, 0, 0, 0);
	rule(4, ABI_UNWIND_SP, 8, ABI_UNWIND_BP_SAME, 0);
	poke(interrupted, RETURN_TO(5));
	rule(5, ABI_UNWIND_END, 0, 0, 0);
	stack = walk_new(RETURN_TO(1), handler, 0, 0);
	assert_stack(&stack, ABI_CUT_NONE, expected, 4);
	assert_int_equal(stack.exact[0], 1 << 1 | 1 << 2);
	/* the same address as a return address */
	assert_int_equal(walk_new(FUNCTION(4), interrupted, 0, 0).cut, ABI_CUT_UNSUPPORTED);
}

/*
 * The CFA of function 2 is at rbx + 24. It has called function 1, which has called function 0:
 * whichever of them has saved rbx, or none.
 */
static void a_register_that_is_not_tracked_is_found_in_the_frames_below(void **state)
{
	enum { other = 0x1234 };
	const uint64_t sp = STACK + 4096, cfa = sp + 1024, rbx = cfa - 24;
	const uint64_t expected[] = { RETURN_TO(0), RETURN_TO(1), RETURN_TO(2), RETURN_TO(3) };
	const struct {
		uint8_t saved[2]; /* by functions 0 and 1 */
		uint64_t slot[2], reg;
		enum abi_stack_cut cut;
	} cases[] = {
		{ { ABI_UNWIND_RBX_SAME, 2 }, { 0, rbx }, other, ABI_CUT_NONE },
		{ { 2, ABI_UNWIND_RBX_SAME }, { rbx, 0 }, other, ABI_CUT_NONE },
		{ { 2, 2 }, { other, rbx }, other, ABI_CUT_NONE },
		{ { ABI_UNWIND_RBX_SAME, ABI_UNWIND_RBX_SAME }, { 0, 0 }, rbx, ABI_CUT_NONE },
		{ { 2, ABI_UNWIND_RBX_UNKNOWN }, { rbx, rbx }, rbx, ABI_CUT_UNSUPPORTED },
		{ { ABI_UNWIND_RBX_UNKNOWN, ABI_UNWIND_RBX_SAME },
		  { 0 },
		  rbx,
		  ABI_CUT_UNSUPPORTED },
		{ { 2, ABI_UNWIND_RBX_SAME }, { sp, 0 }, rbx, ABI_CUT_NOT_RISING },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct library_stack stack;

		rule(0, ABI_UNWIND_SP, 32, ABI_UNWIND_BP_SAME, 0);
		rule(1, ABI_UNWIND_SP, 48, ABI_UNWIND_BP_SAME, 0);
		rule(2, ABI_UNWIND_RBX, 24, ABI_UNWIND_BP_SAME, 0);
		rule(3, ABI_UNWIND_END, 0, 0, 0);
		f.rules[1].rbx = cases[i].saved[0] & ABI_UNWIND_RBX_MOST;
		f.rules[2].rbx = cases[i].saved[1] & ABI_UNWIND_RBX_MOST;
		poke(sp + 24, RETURN_TO(1));
		poke(sp + 32 - 16, cases[i].slot[0]);
		poke(sp + 32 + 40, RETURN_TO(2));
		poke(sp + 32 + 48 - 16, cases[i].slot[1]);
		poke(cfa - 8, RETURN_TO(3));
		stack = walk_new(RETURN_TO(0), sp, 0, cases[i].reg);
		assert_stack(&stack, cases[i].cut, expected, cases[i].cut ? 3 : 4);
	}
}

static void a_signal_frame_has_all_registers(void **state)
{
	const uint64_t sp = STACK + 4096, cfa = sp + 1024, bottom = sp + 512;
	struct library_stack stack;

	(void)state;
	rule(0, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	rule(1, ABI_UNWIND_SIGNAL, 40, 0, 0);
	rule(2, ABI_UNWIND_RBX, 24, ABI_UNWIND_BP_SAME, 0);
	rule(3, ABI_UNWIND_END, 0, 0, 0);
	poke(sp + 8, RETURN_TO(1));
	signal_frame(sp + 16, RETURN_TO(2), bottom, 0);
	poke(sp + 16 + 40 + 88, cfa - 24);
	poke(cfa - 8, RETURN_TO(3));
	stack = walk_new(RETURN_TO(0), sp, 0, 1);
	assert_int_equal(stack.cut, ABI_CUT_NONE);
	assert_int_equal(stack.frames, 4);
}

/* Rules of any kind that needs no more than the stack, most of them as compilers have them. */
static struct abi_unwind_rule random_rule(struct random_numbers *numbers)
{
	static const uint8_t kinds[] = { ABI_UNWIND_NONE,	ABI_UNWIND_BP_DEREF,
					 ABI_UNWIND_SP_DEREF,	ABI_UNWIND_SIGNAL,
					 ABI_UNWIND_PLT,	ABI_UNWIND_RBX,
					 ABI_UNWIND_UNSUPPORTED };
	struct abi_unwind_rule rule = {
		.offset = (int32_t)(1 + random_below(numbers, 40)) * 8,
		.kind = random_below(numbers, 8) ? ABI_UNWIND_SP : ABI_UNWIND_BP,
		.bp = random_below(numbers, 2) & 3,
		.rbx = random_below(numbers, 6) & ABI_UNWIND_RBX_MOST,
		.bp_offset = (int16_t)(8 - (int)random_below(numbers, 20) * 8),
	};

	if (random_below(numbers, 50) == 0)
		rule.offset -= 4;
	if (random_below(numbers, 20) == 0)
		rule.bp = ABI_UNWIND_BP_AT_BP;
	if (random_below(numbers, 8) == 0)
		rule.kind = ABI_UNWIND_END;
	if (random_below(numbers, 12) == 0)
		rule.kind = kinds[random_below(numbers, sizeof(kinds))];
	if (rule.kind == ABI_UNWIND_BP_DEREF || rule.kind == ABI_UNWIND_SP_DEREF)
		rule.offset = ABI_UNWIND_DEREF(rule.offset, random_below(numbers, 3) * 8);
	return rule;
}

/* What may stand on a stack: mostly where calls return to, or a place further out. */
static uint64_t random_word(struct random_numbers *numbers, uint64_t at)
{
	switch (random_below(numbers, 32)) {
	case 0:
		return 0;
	case 1:
		return random_below(numbers, 4096);
	case 2:
		return OTHER_CODE + random_below(numbers, 4096);
	case 3:
		return STACK + random_below(numbers, STACK_BYTES + 4096);
	case 4:
	case 5:
	case 6:
		return at + random_below(numbers, 64) * 8;
	default:
		return RETURN_TO(random_below(numbers, 64));
	}
}

#define RANDOM_BYTES 8192

static void both_find_the_same_of_any_stack(void **state)
{
	struct random_numbers numbers = random_from(1);
	size_t frames = 0, shared = 0, cuts[ABI_CUTS] = { 0 };
	(void)state;

	f.host.memory[1].len = 0; /* code is none that the library can read here */
	for (int round = 0; round < 20000; round++) {
		struct library_registers from = { .pc = RETURN_TO(random_below(&numbers, 64)),
						  .sp = STACK + 64 + random_below(&numbers, 64) * 8,
						  .bx = random_word(&numbers, STACK + 512) };
		struct library_stack stack;

		from.bp = random_word(&numbers, from.sp);
		for (uint32_t i = 0; i < 64; i++)
			f.rules[1 + i] = random_rule(&numbers);
		for (uint64_t at = STACK; at < STACK + RANDOM_BYTES; at += 8)
			poke(at, random_word(&numbers, at));
		(void)walk_new(from.pc, from.sp, from.bp, from.bx); /* held against each other */
		/* and when a word has changed */
		poke(from.sp + random_below(&numbers, 64) * 8, random_word(&numbers, from.sp));
		stack = walk_twice(&from);
		frames += stack.frames;
		shared += stack.shared;
		cuts[stack.cut]++;
	}
	assert_true(frames > 40000);
	assert_true(shared > 5000);
	for (int cut = 0; cut < ABI_CUTS; cut++)
		assert_true(cut == ABI_CUT_PRUNED || cut == ABI_CUT_LIMIT || cuts[cut] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_of_rule_finds_the_caller_and_its_frame_pointer),
		TEST(the_cause_of_a_cut_is_told),
		TEST(code_without_information_is_passed_by_its_frame_pointer),
		TEST(behind_a_signal_frame_the_interrupted_code_is_looked_up_exactly),
		TEST(a_register_that_is_not_tracked_is_found_in_the_frames_below),
		TEST(a_signal_frame_has_all_registers),
		TEST(both_find_the_same_of_any_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
