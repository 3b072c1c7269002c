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
		host_use(&f.host);
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
		f.host.registers.rbx = cases[i].reg;
		walk(RETURN_TO(0), sp, 0);
		assert_cut(cases[i].cut);
		assert_frames(expected, cases[i].cut ? 3 : 4);
	}
}

static void a_signal_frame_has_all_registers(void **state)
{
	const uint64_t sp = STACK + 4096, cfa = sp + 1024, bottom = sp + 512;

	(void)state;
	rule(0, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	rule(1, ABI_UNWIND_SIGNAL, 40, 0, 0);
	rule(2, ABI_UNWIND_RBX, 24, ABI_UNWIND_BP_SAME, 0);
	rule(3, ABI_UNWIND_END, 0, 0, 0);
	poke(sp + 8, RETURN_TO(1));
	signal_frame(sp + 16, RETURN_TO(2), bottom, 0);
	poke(sp + 16 + 40 + 88, cfa - 24);
	poke(cfa - 8, RETURN_TO(3));
	f.host.registers.rbx = 1;
	walk(RETURN_TO(0), sp, 0);
	assert_cut(ABI_CUT_NONE);
	assert_int_equal(f.scratch.ev.frames, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(behind_a_clone_the_stack_goes_on_for_who_has_called_it),
		TEST(the_return_address_in_a_register_is_the_innermost_frame_s),
		TEST(a_register_that_is_not_tracked_is_found_in_the_frames_below),
		TEST(a_signal_frame_has_all_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
