/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/unwind_path.bpf.h: a walk that may meet the last stack's path finds what one finds that knows
 * of none.
 */
#include "tests/unit/unwind_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Function i has row i; its calls return to byte 8, 16 and so on. Function 0 begins the stack. */
#define CODE 0x555500001000ULL
#define RETURN_TO(i) (CODE + (uint64_t)(i)*64 + 8)
#define FUNCTIONS 64
#define STACK 0x7ffc00000000ULL
#define STACK_WORDS 131072UL
#define TOP (STACK + STACK_WORDS * 8)
#define SLOT 7

static struct {
	struct unwind_host host;
	struct abi_unwind_row rows[FUNCTIONS];
	struct abi_unwind_rule rules[1 + FUNCTIONS];
	struct abi_unwind_mapping mapping;
	struct abi_unwind_object objects[2];
	uint64_t stack[STACK_WORDS];
	struct stack_scratch scratch;
	uint32_t random;
} f;

static uint32_t random_below(uint32_t limit)
{
	f.random = f.random * 1664525 + 1013904223;
	return (f.random >> 8) % limit;
}

/* Frames of 4 to 50 words, now and then one of 400, too large for a short code; some save rbp. */
static int setup(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.random = 1;
	f.rules[1].kind = ABI_UNWIND_END;
	f.rows[0].rule = 1;
	for (uint32_t i = 1; i < FUNCTIONS; i++) {
		struct abi_unwind_rule *rule = &f.rules[1 + i];
		uint32_t words = i % 16 == 7 ? 200 : 2 + random_below(24);

		f.rows[i] = (struct abi_unwind_row){ .pc = i * 64, .rule = 1 + i };
		*rule = (struct abi_unwind_rule){ .offset = words * 16, .kind = ABI_UNWIND_SP };
		if (i % 3)
			continue;
		rule->bp = ABI_UNWIND_BP_AT_CFA;
		rule->bp_offset = -16 - (int)random_below(2) * 8;
	}
	f.mapping =
		(struct abi_unwind_mapping){ .start = CODE, .len = FUNCTIONS * 64, .object = 1 };
	f.objects[1].rows = FUNCTIONS;
	f.host = (struct unwind_host){
		.rows = { f.rows, FUNCTIONS },
		.rules = f.rules,
		.n_rules = 1 + FUNCTIONS,
		.mappings = &f.mapping,
		.n_mappings = 1,
		.objects = f.objects,
		.n_objects = 2,
		.space = { .slot = SLOT },
		.sorted = ABI_UNWIND_SORTED(0, 1, 0),
		.memory = { { STACK, (uint8_t *)f.stack, sizeof(f.stack) } },
	};
	host_use(&f.host);
	return 0;
}

struct registers {
	uint64_t pc, sp, bp, seed, kept;
};

static uint64_t walk(const struct registers *regs)
{
	struct unwind_walk *w = &f.scratch.walk;
	uint64_t hash;

	w->at.pc = regs->pc;
	w->at.sp = regs->sp;
	w->at.bp = regs->bp;
	w->at.exact = 0;
	w->kept = regs->kept;
	w->seed = regs->seed;
	w->slot = SLOT;
	unwind_begin(&f.scratch, false);
	hash = unwind(&f.scratch);
	path_copy_frames(scratch_tell(&f.scratch));
	return hash;
}

/* Walks with what is known of the last stack, and knowing nothing: the frames shared with it. */
static uint64_t walk_both_ways(const struct registers *regs)
{
	uint64_t hash = walk(regs), shared = f.scratch.walk.joined;
	struct abi_ev_stack ev = f.scratch.ev;
	struct unwind_path path = host_path;

	memset(&host_path, 0, sizeof(host_path));
	assert_int_equal(walk(regs), hash);
	assert_int_equal(f.scratch.walk.joined, 0);
	assert_int_equal(f.scratch.ev.frames, ev.frames);
	assert_int_equal(f.scratch.ev.flags, ev.flags);
	assert_memory_equal(f.scratch.ev.frame, ev.frame, ev.frames * sizeof(ev.frame[0]));
	host_path = path;
	return shared;
}

static void poke(uint64_t addr, uint64_t value)
{
	assert_in_range(addr, STACK, TOP - 8);
	f.stack[(addr - STACK) / 8] = value;
}

#define DEPTH 500

/* Calls as a program makes them: from[i] is the sp in function i of the stack, root first. */
struct calls {
	uint32_t depth;
	uint32_t function[DEPTH];
	uint64_t sp[DEPTH]; /* as the walk finds it */
	uint64_t pc[DEPTH];
	uint64_t bp[DEPTH];
};

static void calls_begin(struct calls *c)
{
	c->depth = 1;
	c->function[0] = 0;
	c->sp[0] = TOP - 4096;
	c->pc[0] = RETURN_TO(0);
	c->bp[0] = 0x1234;
}

/* The innermost function calls `function`, which has reached the call behind `site`. */
static void call(struct calls *c, uint32_t function, uint32_t site, uint64_t bp)
{
	const struct abi_unwind_rule *rule = &f.rules[1 + function];
	uint64_t cfa = c->sp[c->depth - 1];
	uint32_t n = c->depth;

	if (n == DEPTH || cfa - rule->offset < STACK + 64)
		return;
	poke(cfa - 8, c->pc[n - 1]);
	c->bp[n] = c->bp[n - 1];
	if (rule->bp == ABI_UNWIND_BP_AT_CFA) {
		poke(cfa + rule->bp_offset, c->bp[n - 1]);
		c->bp[n] = bp;
	}
	c->function[n] = function;
	c->sp[n] = cfa - rule->offset;
	c->pc[n] = RETURN_TO(function) + site;
	c->depth++;
}

static struct registers innermost(const struct calls *c)
{
	uint32_t n = c->depth - 1;

	return (struct registers){ c->pc[n], c->sp[n], c->bp[n], (uint64_t)SLOT << 32,
				   ABI_MAX_FRAMES };
}

static void a_program_that_calls_and_returns_is_followed(void **state)
{
	uint64_t shared = 0, frames = 0;
	struct calls c;
	(void)state;

	calls_begin(&c);
	for (int i = 0; i < 20000; i++) {
		struct registers regs;

		c.depth -= random_below(random_below(16) ? 4 : c.depth) % c.depth;
		for (uint32_t n = random_below(8); n; n--)
			call(&c, 1 + random_below(FUNCTIONS - 1), random_below(3), random_below(3));
		/* the innermost goes on to another call */
		if (c.depth > 1)
			c.pc[c.depth - 1] = RETURN_TO(c.function[c.depth - 1]) + random_below(4);
		regs = innermost(&c);
		shared += walk_both_ways(&regs);
		assert_int_equal(ABI_STACK_CUT(f.scratch.ev.flags), ABI_CUT_NONE);
		assert_int_equal(f.scratch.ev.frames, c.depth);
		for (uint32_t n = 0; n < c.depth; n++)
			assert_int_equal(f.scratch.ev.frame[n], c.pc[c.depth - 1 - n]);
		frames += c.depth;
	}
	/* It is what the path is for. */
	assert_true(shared > frames / 2);
}

/* Each word that the walk depends on, one after the other, is another one for one walk. */
static void a_word_that_has_changed_is_noticed(void **state)
{
	struct registers regs;
	uint64_t before;
	struct calls c;
	(void)state;

	calls_begin(&c);
	for (uint32_t i = 0; i < 60; i++)
		call(&c, 1 + i % (FUNCTIONS - 1), 0, 0);
	regs = innermost(&c);
	before = walk(&regs);
	for (uint64_t at = regs.sp; at < c.sp[0]; at += 8) {
		uint64_t word = f.stack[(at - STACK) / 8];

		poke(at, word == RETURN_TO(9) ? RETURN_TO(12) : RETURN_TO(9));
		walk_both_ways(&regs);
		poke(at, word);
		walk_both_ways(&regs);
		assert_int_equal(walk(&regs), before);
	}
}

static void a_path_is_of_one_seed(void **state)
{
	struct registers regs;
	struct calls c;
	(void)state;

	calls_begin(&c);
	for (uint32_t i = 1; i < 20; i++)
		call(&c, i, 0, 0);
	regs = innermost(&c);
	assert_int_equal(walk_both_ways(&regs), 0);
	assert_int_equal(walk_both_ways(&regs), 20);
	/* code has gone, and other rules hold where it was */
	f.rules[1 + 5].offset += 16;
	regs.seed++;
	assert_int_equal(walk_both_ways(&regs), 0);
}

/* A stack that is longer than what is kept of it is cut, whatever is known of its outer part. */
static void no_more_frames_are_kept_than_asked_for(void **state)
{
	struct registers regs;
	struct calls c;
	(void)state;

	calls_begin(&c);
	for (uint32_t i = 1; i < 40; i++)
		call(&c, i, 0, 0);
	regs = innermost(&c);
	walk_both_ways(&regs);
	for (regs.kept = 45; regs.kept > 1; regs.kept--) {
		assert_int_equal(walk_both_ways(&regs), regs.kept >= 40 ? 40 : 0);
		assert_int_equal(f.scratch.ev.frames, regs.kept < 40 ? regs.kept : 40);
	}
}

/* Each frame is in a window of its own; what is far below the root is walked by rules. */
static void frames_of_pages_are_in_the_path_as_far_as_it_goes(void **state)
{
	const uint32_t frame = 9008, in_path = 1 + PATH_EXTENT / frame;
	struct registers regs;
	struct calls c;
	(void)state;

	calls_begin(&c);
	for (uint32_t i = 1; i < FUNCTIONS; i++) {
		f.rules[1 + i].offset = frame;
		call(&c, i, 0, i);
	}
	for (uint32_t i = FUNCTIONS - 1; i; i--)
		call(&c, i, 0, i);
	regs = innermost(&c);
	assert_int_equal(walk_both_ways(&regs), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(walk_both_ways(&regs), in_path);
		assert_int_equal(ABI_STACK_CUT(f.scratch.ev.flags), ABI_CUT_NONE);
		assert_int_equal(f.scratch.ev.frames, c.depth);
	}
	c.depth = in_path;
	regs = innermost(&c);
	assert_int_equal(walk_both_ways(&regs), in_path);
	assert_int_equal(f.scratch.ev.frames, in_path);
}

/* Only who has the CPU's first scratch may look there, and write. */
static void a_walk_in_between_leaves_the_path_alone(void **state)
{
	struct unwind_path path;
	struct registers regs;
	struct calls c;
	(void)state;

	calls_begin(&c);
	for (uint32_t i = 1; i < 10; i++)
		call(&c, i, 0, 0);
	regs = innermost(&c);
	walk(&regs);
	path = host_path;
	f.scratch.level = 1;
	call(&c, 11, 0, 0);
	regs = innermost(&c);
	assert_int_equal(walk_both_ways(&regs), 0);
	assert_memory_equal(&host_path, &path, sizeof(path));
}

/* What a return probe has replaced is in a list, not on the stack. */
static void steps_to_a_replaced_return_address_are_not_in_the_path(void **state)
{
	struct host_return_probe probe;
	struct registers regs;
	struct calls c;
	(void)state;

	calls_begin(&c);
	for (uint32_t i = 1; i < 20; i++)
		call(&c, i, 0, 0);
	probe = (struct host_return_probe){ c.sp[9] - 8, RETURN_TO(9) };
	f.host.probes = &probe;
	f.host.n_probes = 1;
	poke(probe.slot, HOST_TRAMPOLINE);
	regs = innermost(&c);
	walk_both_ways(&regs);
	probe.address = RETURN_TO(12);
	walk_both_ways(&regs);
	assert_int_equal(f.scratch.ev.frame[10], RETURN_TO(12));
	probe.address = RETURN_TO(9);
	walk_both_ways(&regs);
	/* the address of frame 10 is known only when its caller is looked for */
	assert_in_range(walk_both_ways(&regs), 1, 10);
	assert_int_equal(f.scratch.ev.frame[10], RETURN_TO(9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_program_that_calls_and_returns_is_followed, setup),
		cmocka_unit_test_setup(a_word_that_has_changed_is_noticed, setup),
		cmocka_unit_test_setup(a_path_is_of_one_seed, setup),
		cmocka_unit_test_setup(no_more_frames_are_kept_than_asked_for, setup),
		cmocka_unit_test_setup(frames_of_pages_are_in_the_path_as_far_as_it_goes, setup),
		cmocka_unit_test_setup(a_walk_in_between_leaves_the_path_alone, setup),
		cmocka_unit_test_setup(steps_to_a_replaced_return_address_are_not_in_the_path,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
