/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules by registers that a walk does not track. */
#include "tests/unit/unwind_fixture.h"

/* Function 0 is behind clone, which function 1 has called; function 2 says where that ends. */
static void behind_a_clone_the_stack_goes_on_for_who_has_called_it(void **state)
{
	const uint64_t sp = STACK + 4096, caller[] = { RETURN_TO(0), RETURN_TO(1) };

	(void)state;
	rule(0, ABI_UNWIND_CLONED, 8, ABI_UNWIND_BP_SAME, 0);
	rule(1, ABI_UNWIND_END, 0, 0, 0);
	poke(sp, RETURN_TO(1));
	f.host.registers.rax = 1234;
	walk(RETURN_TO(0), sp, 0);
	assert_cut(ABI_CUT_NONE);
	assert_frames(caller, 2);
	f.host.registers.rax = 0;
	walk(RETURN_TO(0), sp, 0);
	assert_cut(ABI_CUT_NONE);
	assert_frames(caller, 1);
}

static void the_return_address_in_a_register_is_the_innermost_frame_s(void **state)
{
	const uint64_t sp = STACK + 4096, vfork[] = { RETURN_TO(0), RETURN_TO(1), RETURN_TO(2) };

	(void)state;
	rule(0, ABI_UNWIND_RA_IN_RDI, 0, ABI_UNWIND_BP_SAME, 0);
	rule(1, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	rule(2, ABI_UNWIND_END, 0, 0, 0);
	poke(sp + 8, RETURN_TO(2));
	f.host.registers.rdi = RETURN_TO(1);
	walk(RETURN_TO(0), sp, 0);
	assert_cut(ABI_CUT_NONE);
	assert_frames(vfork, 3);
	/* called by nobody */
	poke(sp + 8, RETURN_TO(0));
	walk(RETURN_TO(1), sp, 0);
	assert_cut(ABI_CUT_UNSUPPORTED);
	assert_int_equal(f.scratch.ev.frames, 2);
}

/* A goroutine, its thread, and the thread's word for Go, in the stack's memory. */
#define GO_G (STACK + 0x8000)
#define GO_M (STACK + 0x8800)
#define GO_TLS (STACK + 0x9000)
#define GO_STACK (STACK + 0x1000) /* lower than the thread's */
#define GO_STACK_END (GO_STACK + 0x1000)
#define GO_RULE ABI_UNWIND_GO(0x30, 0xc0, 0x38)

/* C code (function 0) has been called on the thread's stack (1) by a goroutine (2, 3). */
static void go_stacks(uint64_t thread_sp, uint64_t sp)
{
	rule(0, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	rule(2, ABI_UNWIND_SP, 32, ABI_UNWIND_BP_SAME, 0);
	rule(3, ABI_UNWIND_END, 0, 0, 0);
	poke(thread_sp - 8, RETURN_TO(1));
	poke(GO_G, GO_STACK);
	poke(GO_G + 8, GO_STACK_END);
	poke(GO_G + 0x38, sp);
	poke(GO_G + 0x40, RETURN_TO(2));
	poke(GO_M + 0xc0, GO_G);
	poke(GO_TLS - 8, GO_TLS + 64);
	poke(GO_TLS + 64 + 0x30, GO_M);
	f.host.registers.fsbase = GO_TLS;
}

static void the_caller_on_a_goroutine_s_stack_is_found(void **state)
{
	const uint64_t thread_sp = STACK + 0xa000, sp = GO_STACK + 256;
	const uint64_t expected[] = { RETURN_TO(0), RETURN_TO(1), RETURN_TO(2), RETURN_TO(3) };
	const struct {
		struct abi_unwind_rule rule;
		uint64_t return_address, next; /* of functions 2 and 3, at these addresses */
	} cases[] = {
		{ { ABI_UNWIND_DEREF(48, 40), ABI_UNWIND_GO_DEPTH, 0, 0, 0 }, sp, sp + 32 },
		{ { ABI_UNWIND_DEREF(8, 0), ABI_UNWIND_GO_DEPTH, 0, 0, 0 }, sp, sp + 32 },
		{ { GO_RULE, ABI_UNWIND_GO_CURRENT, 0, 0, -8 }, sp, sp + 32 },
		{ { GO_RULE, ABI_UNWIND_GO_RESUMED, 0, 0, -8 }, sp - 8, sp + 24 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(f.stack, 0xcc, STACK_BYTES);
		go_stacks(thread_sp, sp);
		f.rules[2] = cases[i].rule;
		if (cases[i].rule.kind == ABI_UNWIND_GO_DEPTH) {
			poke(thread_sp + ABI_UNWIND_DEREF_AT(cases[i].rule.offset), GO_G);
			poke(thread_sp + ABI_UNWIND_DEREF_THEN(cases[i].rule.offset),
			     GO_STACK_END - sp);
		}
		poke(cases[i].return_address, RETURN_TO(2));
		poke(cases[i].next, RETURN_TO(3));
		walk(RETURN_TO(0), thread_sp - 16, 0);
		assert_cut(ABI_CUT_NONE);
		assert_frames(expected, 4);
	}
}

static void a_goroutine_that_cannot_be_is_not_followed(void **state)
{
	const uint64_t thread_sp = STACK + 0xa000, sp = GO_STACK + 256;
	const struct abi_unwind_rule depth = { ABI_UNWIND_DEREF(48, 40), ABI_UNWIND_GO_DEPTH, 0, 0,
					       0 };
	const struct abi_unwind_rule current = { GO_RULE, ABI_UNWIND_GO_CURRENT, 0, 0, -8 };
	const struct abi_unwind_rule resumed = { GO_RULE, ABI_UNWIND_GO_RESUMED, 0, 0, -8 };
	const struct {
		struct abi_unwind_rule rule;
		uint64_t slot, value; /* in place of what is there */
		enum abi_stack_cut cut;
	} cases[] = {
		{ depth, thread_sp + 48, 8, ABI_CUT_UNREADABLE },
		{ depth, thread_sp + 40, 0, ABI_CUT_UNREADABLE },
		{ depth, thread_sp + 40, 0x1001, ABI_CUT_UNREADABLE }, /* below the stack */
		{ current, GO_M + 0xc0, 0, ABI_CUT_UNREADABLE },
		{ current, GO_TLS - 8, 0, ABI_CUT_UNREADABLE },
		{ current, GO_G + 0x38, GO_STACK - 8, ABI_CUT_UNREADABLE },
		{ current, GO_G + 0x38, GO_STACK_END, ABI_CUT_UNREADABLE },
		{ resumed, GO_G + 0x38, GO_STACK_END, ABI_CUT_UNREADABLE },
		/* none: the scheduler's stack */
		{ resumed, GO_M + 0xc0, 0, ABI_CUT_NONE },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(f.stack, 0xcc, STACK_BYTES);
		go_stacks(thread_sp, sp);
		f.rules[2] = cases[i].rule;
		poke(thread_sp + 48, GO_G);
		poke(thread_sp + 40, GO_STACK_END - sp);
		poke(cases[i].slot, cases[i].value);
		walk(RETURN_TO(0), thread_sp - 16, 0);
		assert_cut(cases[i].cut);
		assert_int_equal(f.scratch.ev.frames, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(behind_a_clone_the_stack_goes_on_for_who_has_called_it),
		TEST(the_return_address_in_a_register_is_the_innermost_frame_s),
		TEST(the_caller_on_a_goroutine_s_stack_is_found),
		TEST(a_goroutine_that_cannot_be_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
