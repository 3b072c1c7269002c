/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/unwind_fixture.h"

/* Makes n frames above sp, of functions 1 to n; the last one has the END rule. */
static uint64_t random_frames(size_t n, uint32_t *seed, uint64_t *expected)
{
	uint64_t at = STACK + 4096, sp = at, bp_slot = 0, bp = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t function = 1 + i, random = *seed = *seed * 1664525 + 1013904223;
		uint64_t words = 2 + (random >> 8) % (random & 0x70 ? 30 : 600),
			 cfa = at + words * 8;

		expected[i] = RETURN_TO(function);
		if (i + 1 == n) {
			rule(function, ABI_UNWIND_END, 0, 0, 0);
			break;
		}
		poke(cfa - 8, RETURN_TO(function + 1));
		if (random & 1) { /* has saved rbp, perhaps to use it for its frame */
			uint64_t depth = 2 + (random >> 24) % (words - 1 < 70 ? words - 1 : 70);

			if (bp_slot)
				poke(bp_slot, random & 2 ? cfa - depth * 8 : random);
			else
				bp = random & 2 ? cfa - depth * 8 : random;
			rule(function, random & 2 ? ABI_UNWIND_BP : ABI_UNWIND_SP,
			     random & 2 ? depth * 8 : words * 8, ABI_UNWIND_BP_AT_CFA, -depth * 8);
			bp_slot = cfa - depth * 8;
		} else {
			rule(function, ABI_UNWIND_SP, words * 8, ABI_UNWIND_BP_SAME, 0);
		}
		at = cfa;
	}
	f.scratch.walk.at.pc = expected[0];
	f.scratch.walk.at.bp = bp;
	return sp;
}

/* Frames of 2 to 600 words meet the window's edges anywhere. */
static void stacks_of_any_depth_and_frame_size_are_whole(void **state)
{
	uint64_t expected[ABI_MAX_FRAMES];
	uint32_t seed = 1;
	(void)state;

	for (size_t round = 0; round < 400; round++) {
		size_t n = 1 + round % ABI_MAX_FRAMES;
		uint64_t sp;

		host_use(&f.host);
		sp = random_frames(n, &seed, expected);
		walk(f.scratch.walk.at.pc, sp, f.scratch.walk.at.bp);
		assert_cut(ABI_CUT_NONE);
		assert_frames(expected, n);
		assert_int_equal(f.host.failed_reads, 0);
	}
}

static void equal_stacks_have_equal_hashes_and_others_do_not(void **state)
{
	uint64_t expected[ABI_MAX_FRAMES], sp, bp, first, other_seed;
	uint32_t seed = 3;
	(void)state;

	sp = random_frames(20, &seed, expected);
	bp = f.scratch.walk.at.bp;
	first = walk(RETURN_TO(1), sp, bp);
	assert_int_equal(walk(RETURN_TO(1), sp, bp), first);
	assert_int_not_equal(walk(RETURN_TO(1) + 1, sp, bp), first);
	assert_int_not_equal(walk_kept(RETURN_TO(1), sp, bp, false, 19), first);
	/* the same code in another process */
	f.scratch.walk.seed++;
	unwind_begin(&f.scratch, false);
	f.scratch.walk.at.pc = RETURN_TO(1);
	f.scratch.walk.at.sp = sp;
	f.scratch.walk.at.bp = bp;
	f.scratch.walk.kept = ABI_MAX_FRAMES;
	other_seed = unwind(&f.scratch);
	assert_frames(expected, 20);
	assert_int_not_equal(other_seed, first);
}

static void an_address_is_searched_once(void **state)
{
	uint64_t expected[ABI_MAX_FRAMES], sp, bp;
	uint32_t seed = 5;
	(void)state;

	sp = random_frames(60, &seed, expected);
	bp = f.scratch.walk.at.bp;
	walk(RETURN_TO(1), sp, bp);
	assert_int_equal(f.host.searches, 60);
	walk(RETURN_TO(1), sp, bp);
	assert_frames(expected, 60);
	assert_int_equal(f.host.searches, 60);
}

static void a_stack_of_just_as_many_frames_as_are_kept_is_whole(void **state)
{
	const struct {
		size_t frames;
		uint64_t kept;
		enum abi_stack_cut cut;
		size_t expected;
	} cases[] = {
		{ 127, 127, ABI_CUT_NONE, 127 },  { 128, 127, ABI_CUT_LIMIT, 127 },
		{ 511, 511, ABI_CUT_NONE, 511 },  { 512, 511, ABI_CUT_LIMIT, 511 },
		{ 200, 127, ABI_CUT_LIMIT, 127 }, { 5, 5, ABI_CUT_NONE, 5 },
		{ 6, 5, ABI_CUT_LIMIT, 5 },	  { 9, 8, ABI_CUT_LIMIT, 8 },
		{ 16, 16, ABI_CUT_NONE, 16 },	  { 2, 1, ABI_CUT_LIMIT, 1 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t expected[ABI_MAX_FRAMES + 1];

		host_use(&f.host);
		for (size_t k = 0; k < cases[i].frames; k++) {
			expected[k] = RETURN_TO(1 + k);
			rule(1 + k, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
			poke(STACK + k * 16 + 8, RETURN_TO(2 + k));
		}
		rule(cases[i].frames, ABI_UNWIND_END, 0, 0, 0);
		walk_kept(RETURN_TO(1), STACK, 0, false, cases[i].kept);
		assert_cut(cases[i].cut);
		assert_frames(expected, cases[i].expected);
	}
}

/* The page behind a stack is not there: a read of a whole window fails. */
static void a_stack_is_read_to_its_end_and_the_end_is_remembered(void **state)
{
	const uint64_t sp = STACK + STACK_BYTES - 128;
	const uint64_t expected[] = { RETURN_TO(1), RETURN_TO(2), RETURN_TO(3) };
	(void)state;

	rule(1, ABI_UNWIND_SP, 64, ABI_UNWIND_BP_AT_CFA, -16);
	rule(2, ABI_UNWIND_SP, 64, ABI_UNWIND_BP_SAME, 0);
	rule(3, ABI_UNWIND_END, 0, 0, 0);
	poke(sp + 56, RETURN_TO(2));
	poke(sp + 120, RETURN_TO(3));
	walk(RETURN_TO(1), sp, 0);
	assert_cut(ABI_CUT_NONE);
	assert_frames(expected, 3);
	assert_int_equal(f.host.failed_reads, 1);
	f.host.reads = 0;
	walk(RETURN_TO(1), sp + 8 - 8, 0);
	assert_cut(ABI_CUT_NONE);
	assert_int_equal(f.host.failed_reads, 1);
	assert_int_equal(f.host.reads, 1);
	/* of another thread's stack, elsewhere, it says nothing */
	poke(STACK + 56, RETURN_TO(2));
	poke(STACK + 120, RETURN_TO(3));
	f.host.reads = 0;
	walk(RETURN_TO(1), STACK, 0);
	assert_cut(ABI_CUT_NONE);
	assert_int_equal(f.host.reads, 1);
	assert_int_equal(f.host.failed_reads, 1);
}

/* The window would have three pages, the words that are needed lie in two of them. */
static void of_a_window_without_its_third_page_two_are_read(void **state)
{
	const uint64_t end = STACK + STACK_BYTES, sp = end - 8192, frame = end - 4096 - 32;
	const uint64_t expected[] = { RETURN_TO(1), RETURN_TO(2), RETURN_TO(3), RETURN_TO(4) };
	(void)state;

	rule(1, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	poke(sp + 8, RETURN_TO(2));
	rule(2, ABI_UNWIND_SP, (int32_t)(frame - sp - 16), ABI_UNWIND_BP_SAME, 0);
	poke(frame - 8, RETURN_TO(3));
	rule(3, ABI_UNWIND_SP, 64, ABI_UNWIND_BP_AT_CFA, -56);
	poke(frame + 56, RETURN_TO(4));
	rule(4, ABI_UNWIND_END, 0, 0, 0);
	walk(RETURN_TO(1), sp, 0);
	assert_cut(ABI_CUT_NONE);
	assert_frames(expected, 4);
	assert_int_equal(f.host.failed_reads, 1);
}

/* A recursion of 199 frames that a signal handler has begun. */
static void what_a_signal_interrupted_is_marked_in_deep_stacks(void **state)
{
	const uint64_t handler = STACK + 199 * 16, interrupted = STACK + 4096 * 2;
	(void)state;

	rule(1, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	for (uint64_t at = STACK; at < handler; at += 16)
		poke(at + 8, at + 16 < handler ? RETURN_TO(1) : RETURN_TO(2));
	rule(2, ABI_UNWIND_SIGNAL, 40, 0, 0);
	signal_frame(handler, FUNCTION(4), interrupted, 0x1111);
	rule(4, ABI_UNWIND_SP, 8, ABI_UNWIND_BP_SAME, 0);
	poke(interrupted, RETURN_TO(5));
	rule(5, ABI_UNWIND_END, 0, 0, 0);
	for (int round = 0; round < 2; round++) {
		walk(RETURN_TO(1), STACK, 0);
		assert_cut(ABI_CUT_NONE);
		assert_int_equal(f.scratch.ev.frames, 202);
		assert_int_equal(f.scratch.ev.frame[200], FUNCTION(4));
		for (size_t i = 0; i < ABI_EXACT_WORDS; i++)
			assert_int_equal(f.scratch.ev.exact[i],
					 i == 3 ? 1 << (199 % 64) | 1 << (200 % 64) : 0);
	}
	/* the next stack has none */
	walk(RETURN_TO(5), interrupted, 0);
	for (size_t i = 0; i < ABI_EXACT_WORDS; i++)
		assert_int_equal(f.scratch.ev.exact[i], 0);
}

static void rows_for_return_addresses_serve_interrupted_code_at_system_calls_only(void **state)
{
	static const uint8_t syscall[] = { 0x0f, 0x05 };
	const struct {
		uint64_t pc;
		enum abi_stack_cut cut;
	} cases[] = {
		{ FUNCTION(1) + 20, ABI_CUT_NONE }, /* behind it */
		{ FUNCTION(1) + 18, ABI_CUT_NONE }, /* on it: begun anew */
		{ FUNCTION(1) + 19, ABI_CUT_PRUNED },
		{ FUNCTION(1) + 30, ABI_CUT_PRUNED },
	};
	(void)state;

	f.objects[1].flags = ABI_UNWIND_PRUNED;
	memcpy(&f.text[64 + 18], syscall, sizeof(syscall));
	rule(1, ABI_UNWIND_END, 0, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* twice: what cannot be told is not kept either */
		for (int round = 0; round < 2; round++) {
			walk_kept(cases[i].pc, STACK, 0, true, ABI_MAX_FRAMES);
			assert_cut(cases[i].cut);
			assert_int_equal(f.scratch.ev.frames, 1);
			assert_int_equal(f.scratch.ev.exact[0], 1);
		}
	}
	walk(FUNCTION(1) + 30, STACK, 0);
	assert_cut(ABI_CUT_NONE);
}

static void return_probes_are_seen_through(void **state)
{
	const struct host_return_probe probes[] = {
		{ STACK + 8, RETURN_TO(2) },				    /* nested in the next */
		{ STACK + 0x9999, 0xbad },				    /* left by longjmp */
		{ STACK + 24, RETURN_TO(3) }, { STACK + 24, RETURN_TO(3) }, /* a tail call */
		{ STACK + 40, RETURN_TO(4) },
	};
	const uint64_t expected[] = { RETURN_TO(1), RETURN_TO(2), RETURN_TO(3), RETURN_TO(4) };
	(void)state;

	for (uint32_t i = 1; i < 4; i++) {
		rule(i, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
		poke(STACK + (i - 1) * 16 + 8, HOST_TRAMPOLINE);
	}
	rule(4, ABI_UNWIND_END, 0, 0, 0);
	f.host.probes = probes;
	f.host.n_probes = sizeof(probes) / sizeof(probes[0]);
	walk(RETURN_TO(1), STACK, 0);
	assert_cut(ABI_CUT_NONE);
	assert_frames(expected, 4);
	f.host.n_probes = 1;
	walk(RETURN_TO(1), STACK, 0);
	assert_cut(ABI_CUT_NO_MAPPING);
	assert_int_equal(f.scratch.ev.frame[2], HOST_TRAMPOLINE);
}

/* The handler has one frame, its caller is the signal's; the interrupted return goes to 5. */
static void a_return_that_a_signal_has_interrupted_goes_on(void **state)
{
	const uint64_t handler = STACK, interrupted = STACK + 4096;
	const struct {
		uint64_t pc, slot;
	} cases[] = { { HOST_TRAMPOLINE, interrupted - 8 },
		      { HOST_TRAMPOLINE + 0xd, interrupted + 16 } };
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct host_return_probe probe = { interrupted - 8, RETURN_TO(5) };
		const uint64_t expected[] = { RETURN_TO(1), RETURN_TO(2), cases[i].pc, RETURN_TO(5),
					      RETURN_TO(6) };

		host_use(&f.host);
		f.host.probes = &probe;
		f.host.n_probes = i == 0;
		rule(1, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
		poke(handler + 8, RETURN_TO(2));
		rule(2, ABI_UNWIND_SIGNAL, 40, 0, 0);
		signal_frame(handler + 16, cases[i].pc, interrupted, 0x1111);
		poke(cases[i].slot, RETURN_TO(5));
		rule(5, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
		poke(cases[i].slot + 16, RETURN_TO(6));
		rule(6, ABI_UNWIND_END, 0, 0, 0);
		walk(RETURN_TO(1), handler, 0);
		assert_cut(ABI_CUT_NONE);
		assert_frames(expected, 5);
	}
}

static void an_exit_site_begins_with_the_word_on_the_stack(void **state)
{
	const uint64_t expected[] = { RETURN_TO(1), RETURN_TO(2) };
	(void)state;

	poke(STACK, RETURN_TO(1));
	poke(STACK + 16, RETURN_TO(2));
	rule(1, ABI_UNWIND_SP, 16, ABI_UNWIND_BP_SAME, 0);
	rule(2, ABI_UNWIND_END, 0, 0, 0);
	f.scratch.walk.at.sp = STACK;
	f.scratch.walk.kept = ABI_MAX_FRAMES;
	f.scratch.walk.slot = SLOT;
	unwind_begin(&f.scratch, false);
	assert_int_equal(unwind_return(&f.scratch), 1);
	unwind(&f.scratch);
	assert_cut(ABI_CUT_NONE);
	assert_frames(expected, 2);
	assert_int_equal(f.host.reads, 1);
	f.scratch.walk.at.sp = STACK + STACK_BYTES;
	unwind_begin(&f.scratch, false);
	assert_int_equal(unwind_return(&f.scratch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stacks_of_any_depth_and_frame_size_are_whole),
		TEST(equal_stacks_have_equal_hashes_and_others_do_not),
		TEST(an_address_is_searched_once),
		TEST(a_stack_of_just_as_many_frames_as_are_kept_is_whole),
		TEST(a_stack_is_read_to_its_end_and_the_end_is_remembered),
		TEST(of_a_window_without_its_third_page_two_are_read),
		TEST(what_a_signal_interrupted_is_marked_in_deep_stacks),
		TEST(rows_for_return_addresses_serve_interrupted_code_at_system_calls_only),
		TEST(return_probes_are_seen_through),
		TEST(a_return_that_a_signal_has_interrupted_goes_on),
		TEST(an_exit_site_begins_with_the_word_on_the_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
