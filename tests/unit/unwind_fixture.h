/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's code, tables and stack for walks on the host: unwind_host.h. */
#ifndef MEMTRACED_TESTS_UNWIND_FIXTURE_H
#define MEMTRACED_TESTS_UNWIND_FIXTURE_H

#include "tests/unit/unwind_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

/* Function i has 64 bytes of code at CODE + i * 64 and row i; its calls return to byte 8. */
#define CODE 0x210000001000ULL
#define FUNCTION(i) (CODE + (uint64_t)(i)*64)
#define RETURN_TO(i) (FUNCTION(i) + 8)
#define FUNCTIONS 768
#define OTHER_CODE 0x220000000000ULL /* of object 2: no rows */
#define LATE_CODE 0x230000000000ULL  /* a recent mapping of object 1 */

/* It is there, and nothing beside it: sample/walk.c reads it, too. */
#define STACK 0x200000000000ULL
#define STACK_BYTES (192 * 4096UL)
#define SLOT 7

struct fixture {
	struct unwind_host host;
	struct abi_unwind_row rows[FUNCTIONS];
	struct abi_unwind_rule rules[1 + FUNCTIONS];
	struct abi_unwind_mapping mappings[2];
	struct abi_unwind_object objects[3];
	uint64_t *stack;
	uint8_t text[FUNCTIONS * 64];
	struct stack_scratch scratch;
};

static struct fixture f;

static inline int setup(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.stack = mmap((void *)STACK, STACK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (f.stack == MAP_FAILED)
		return -1;
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		f.rows[i] = (struct abi_unwind_row){ .pc = i * 64, .rule = 1 + i };
	f.mappings[0] = (struct abi_unwind_mapping){ .start = CODE, .len = FUNCTIONS * 64 };
	f.mappings[0].object = 1;
	f.mappings[1] = (struct abi_unwind_mapping){ .start = OTHER_CODE, .len = 4096 };
	f.mappings[1].object = 2;
	f.objects[1].rows = FUNCTIONS;
	f.host = (struct unwind_host){
		.rows = { f.rows, FUNCTIONS },
		.rules = f.rules,
		.n_rules = 1 + FUNCTIONS,
		.mappings = f.mappings,
		.n_mappings = 2,
		.objects = f.objects,
		.n_objects = 3,
		.space = { .slot = SLOT },
		.sorted = ABI_UNWIND_SORTED(0, 2, 0),
		.memory = { { STACK, (uint8_t *)f.stack, STACK_BYTES },
			    { CODE, f.text, sizeof(f.text) } },
	};
	host_use(&f.host);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	return munmap(f.stack, STACK_BYTES);
}

static inline void rule(uint32_t i, enum abi_unwind_kind kind, int32_t offset,
			enum abi_unwind_bp bp, int16_t bp_offset)
{
	f.rules[1 + i] = (struct abi_unwind_rule){ offset, kind, bp, 0, bp_offset };
}

static inline void poke(uint64_t addr, uint64_t value)
{
	assert_in_range(addr, STACK, STACK + STACK_BYTES - 8);
	f.stack[(addr - STACK) / 8] = value;
}

/* Walks from these registers, `kept` frames at most; the hash. */
static inline uint64_t walk_kept(uint64_t pc, uint64_t sp, uint64_t bp, bool exact, uint64_t kept)
{
	struct unwind_walk *w = &f.scratch.walk;

	w->at.pc = pc;
	w->at.sp = sp;
	w->at.bp = bp;
	w->at.exact = exact;
	w->kept = kept;
	w->seed = (uint64_t)SLOT << 32;
	w->slot = SLOT;
	unwind_begin(&f.scratch, exact);
	return unwind(&f.scratch);
}

static inline uint64_t walk(uint64_t pc, uint64_t sp, uint64_t bp)
{
	return walk_kept(pc, sp, bp, false, ABI_MAX_FRAMES);
}

static inline void assert_cut(enum abi_stack_cut cut)
{
	assert_int_equal(ABI_STACK_CUT(f.scratch.ev.flags), cut);
}

static inline void assert_frames(const uint64_t *frames, size_t n)
{
	assert_int_equal(f.scratch.ev.frames, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(f.scratch.ev.frame[i], frames[i]);
}

/* struct sigcontext at sp + 40, as behind __restore_rt. */
static inline void signal_frame(uint64_t sp, uint64_t ip, uint64_t new_sp, uint64_t bp)
{
	poke(sp + 40 + 80, bp);
	poke(sp + 40 + 120, new_sp);
	poke(sp + 40 + 128, ip);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
