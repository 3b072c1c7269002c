/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/unit/heap_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HEAP 0x10000000ULL
#define HEAP_SIZE 0x40000U
#define DATA 0x600000ULL /* the root */
#define DATA_SIZE 0x2000U
#define RODATA 0x500000ULL /* vtables */
#define CODE 0x400000ULL

#define A (HEAP + 0x100)
#define B (HEAP + 0x200)
#define C (HEAP + 0x300)
#define D (HEAP + 0x400)

static struct heap *begin(struct heap *heap)
{
	heap_init(heap);
	heap_region(heap, HEAP, HEAP_SIZE);
	heap_region(heap, DATA, DATA_SIZE);
	heap_root(heap, DATA, DATA + DATA_SIZE, 0);
	return heap;
}

static void assert_class(const struct heap *heap, uint64_t addr, enum reach_class class)
{
	const char *found = reach_class_name(heap_verdict(heap, addr)->class);

	if (strcmp(found, reach_class_name(class)) != 0)
		fail_msg("the block at %#llx is %s, not %s", (unsigned long long)addr, found,
			 reach_class_name(class));
}

struct edge {
	uint64_t at, to;
};

/* Valgrind's manual has these nine; of 16-byte blocks A and B. */
static void the_nine_shapes_are_told_as_memcheck_does(void **state)
{
	static const struct {
		struct edge edges[2];
		bool has_b;
		enum reach_class a, b;
	} shapes[] = {
		{ { { DATA, A } }, false, REACH_REACHABLE, 0 },
		{ { { DATA, A }, { A, B } }, true, REACH_REACHABLE, REACH_REACHABLE },
		{ { { 0, 0 } }, false, REACH_DEFINITE, 0 },
		{ { { A, B } }, true, REACH_DEFINITE, REACH_INDIRECT },
		{ { { DATA, A + 8 } }, false, REACH_POSSIBLE, 0 },
		{ { { DATA, A }, { A, B + 8 } }, true, REACH_REACHABLE, REACH_POSSIBLE },
		{ { { DATA, A + 8 }, { A, B } }, true, REACH_POSSIBLE, REACH_POSSIBLE },
		{ { { DATA, A + 8 }, { A, B + 8 } }, true, REACH_POSSIBLE, REACH_POSSIBLE },
		{ { { A, B + 8 } }, true, REACH_DEFINITE, REACH_INDIRECT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		_cleanup_(heap_done) struct heap heap;

		begin(&heap);
		heap_block(&heap, A, 16, 0);
		if (shapes[i].has_b)
			heap_block(&heap, B, 16, 0);
		for (int e = 0; e < 2; e++)
			if (shapes[i].edges[e].at)
				heap_put(&heap, shapes[i].edges[e].at, shapes[i].edges[e].to);
		heap_check(&heap);
		assert_class(&heap, A, shapes[i].a);
		if (shapes[i].has_b)
			assert_class(&heap, B, shapes[i].b);
	}
}

static void nothing_at_all_is_complete(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_check(&heap);
	assert_int_equal(heap.stats.end, REACH_COMPLETE);
	assert_int_equal(heap.stats.root_bytes, DATA_SIZE);
	assert_int_equal(heap.stats.block_bytes, 0);
}

static void a_cycle_hangs_on_its_lowest_block(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 64, 0);
	heap_block(&heap, B, 64, 0);
	heap_block(&heap, C, 64, 0);
	heap_put(&heap, C, A);
	heap_put(&heap, A + 8, B);
	heap_put(&heap, B, C + 16);
	heap_check(&heap);
	assert_class(&heap, A, REACH_DEFINITE);
	assert_int_equal(heap_leader(&heap, A), 0);
	assert_class(&heap, B, REACH_INDIRECT);
	assert_class(&heap, C, REACH_INDIRECT);
	assert_int_equal(heap_leader(&heap, B), A);
	assert_int_equal(heap_leader(&heap, C), A);
}

static void a_block_that_points_to_itself_is_definite(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 64, 0);
	heap_put(&heap, A, A);
	heap_put(&heap, A + 8, A + 8);
	heap_check(&heap);
	assert_class(&heap, A, REACH_DEFINITE);
}

/* B is a leader until D, which leads to it, is looked at: then all of it hangs on D. */
static void a_leader_that_is_taken_brings_what_hangs_on_it(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 16, 0);
	heap_block(&heap, B, 16, 0);
	heap_block(&heap, C, 16, 0);
	heap_block(&heap, D, 16, 0);
	heap_put(&heap, B, A); /* takes A, which was a leader */
	heap_put(&heap, D, B); /* takes B and its A */
	heap_put(&heap, C, A); /* too late: A hangs on B, then */
	heap_check(&heap);
	assert_class(&heap, D, REACH_DEFINITE);
	assert_class(&heap, C, REACH_DEFINITE);
	assert_int_equal(heap_leader(&heap, A), D);
	assert_int_equal(heap_leader(&heap, B), D);
}

static void what_only_a_reachable_or_possible_block_holds_is_not_lost(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 16, 0);
	heap_block(&heap, B, 16, 0);
	heap_block(&heap, C, 16, 0);
	heap_put(&heap, DATA, B + 8);
	heap_put(&heap, B, A);
	heap_put(&heap, C, A); /* C is lost, but A hangs on B as well */
	heap_check(&heap);
	assert_class(&heap, A, REACH_POSSIBLE);
	assert_class(&heap, B, REACH_POSSIBLE);
	assert_class(&heap, C, REACH_DEFINITE);
}

/* Whatever is read first: A possible by the low root word, then definite by the high one. */
static void a_start_pointer_beats_one_inside(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		_cleanup_(heap_done) struct heap heap;

		begin(&heap);
		heap_block(&heap, A, 32, 0);
		heap_block(&heap, B, 32, 0);
		heap_put(&heap, DATA, swapped ? A : A + 8);
		heap_put(&heap, DATA + DATA_SIZE - 8, swapped ? A + 8 : A);
		heap_put(&heap, A, B);
		heap_check(&heap);
		assert_class(&heap, A, REACH_REACHABLE);
		assert_class(&heap, B, REACH_REACHABLE);
	}
}

static void one_past_the_end_is_outside_unless_asked(void **state)
{
	(void)state;
	for (int asked = 0; asked < 2; asked++) {
		_cleanup_(heap_done) struct heap heap;

		begin(&heap);
		heap.opts.end_pointers = asked;
		heap_block(&heap, A, 256, 0); /* B begins where it ends */
		heap_block(&heap, B, 16, 0);
		heap_block(&heap, C, 24, 0);
		heap_block(&heap, D, 16, 0); /* the last one */
		heap_put(&heap, DATA, B);
		heap_put(&heap, DATA + 8, C + 24);
		heap_put(&heap, DATA + 16, D + 16);
		heap_check(&heap);
		assert_class(&heap, A, REACH_DEFINITE);
		assert_class(&heap, B, REACH_REACHABLE);
		assert_class(&heap, C, asked ? REACH_POSSIBLE : REACH_DEFINITE);
		assert_class(&heap, D, asked ? REACH_POSSIBLE : REACH_DEFINITE);
	}
}

static void a_block_of_no_bytes_is_reachable_by_its_address(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 0, 0);
	heap_block(&heap, B, 0, 0);
	heap_put(&heap, DATA, A);
	heap_put(&heap, DATA + 8, B + 1);
	heap_put(&heap, A, B); /* no byte of A */
	heap_check(&heap);
	assert_class(&heap, A, REACH_REACHABLE);
	assert_class(&heap, B, REACH_DEFINITE);
	assert_int_equal(heap.stats.block_bytes, 0);
}

static void misaligned_pointers_count_only_when_asked(void **state)
{
	static const uint32_t alignments[] = { 1, 2, 4, 8 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		_cleanup_(heap_done) struct heap heap;

		begin(&heap);
		heap.opts.alignment = alignments[i];
		heap_block(&heap, A, 16, 0);
		heap_block(&heap, B, 16, 0);
		heap_block(&heap, C, 16, 0);
		heap_block(&heap, D, 16, 0);
		heap_put(&heap, DATA + 4, A);
		heap_put(&heap, DATA + 18, B);
		heap_put(&heap, DATA + 33, C);
		heap_put(&heap, DATA + 4096 - 3, D);
		heap_check(&heap);
		assert_class(&heap, A, alignments[i] <= 4 ? REACH_REACHABLE : REACH_DEFINITE);
		assert_class(&heap, B, alignments[i] <= 2 ? REACH_REACHABLE : REACH_DEFINITE);
		assert_class(&heap, C, alignments[i] == 1 ? REACH_REACHABLE : REACH_DEFINITE);
		assert_class(&heap, D, alignments[i] == 1 ? REACH_REACHABLE : REACH_DEFINITE);
	}
}

static void registers_alone_are_roots(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	heap_init(&heap);
	heap_region(&heap, HEAP, HEAP_SIZE);
	heap_block(&heap, A, 16, 0);
	heap_block(&heap, B, 16, 0);
	heap_block(&heap, C, 16, 0);
	heap_word(&heap, 0);
	heap_word(&heap, UINT64_MAX);
	heap_word(&heap, A);
	heap_word(&heap, C + 3);
	heap_put(&heap, A, B);
	heap_check(&heap);
	assert_class(&heap, B, REACH_REACHABLE);
	assert_class(&heap, C, REACH_POSSIBLE);
}

static void blocks_that_are_roots_hold_what_they_point_to(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 16, REACH_BLOCK_ROOT);
	heap_block(&heap, B, 16, 0);
	heap_put(&heap, A + 8, B);
	heap_check(&heap);
	assert_class(&heap, A, REACH_REACHABLE);
	assert_class(&heap, B, REACH_REACHABLE);
}

/* A mapping that holds blocks, too: what is in these is no root. */
static void blocks_are_taken_out_of_roots(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_root(&heap, HEAP, HEAP + HEAP_SIZE, 0);
	heap_block(&heap, A, 16, 0);
	heap_block(&heap, B, 16, 0);
	heap_block(&heap, C, 16, 0);
	heap_block(&heap, HEAP + 0x10000, 0x20000, 0); /* covers whole pages */
	heap_put(&heap, A, B);
	heap_put(&heap, HEAP + 0x18000, A);
	heap_put(&heap, C + 16, HEAP + 0x10000 + 5); /* right behind C */
	heap_put(&heap, HEAP + 0x30000, C);	     /* right behind the large one */
	heap_check(&heap);
	assert_class(&heap, C, REACH_REACHABLE);
	assert_class(&heap, HEAP + 0x10000, REACH_POSSIBLE);
	assert_class(&heap, A, REACH_POSSIBLE);
	assert_class(&heap, B, REACH_POSSIBLE);
	assert_int_equal(heap.stats.root_bytes, DATA_SIZE + HEAP_SIZE - 0x20000 - 3 * 16);
}

/* glibc's bins point to headers: the last word of a block of 24 bytes is its successor's. */
static void words_of_main_arena_do_not_keep_blocks(void **state)
{
	static const struct {
		uint64_t size, inside;
		enum reach_class class;
		uint64_t ignored;
	} rows[] = {
		{ 24, 16, REACH_DEFINITE, 1 }, { 24, 8, REACH_POSSIBLE, 0 },
		{ 40, 32, REACH_DEFINITE, 1 }, { 40, 16, REACH_POSSIBLE, 0 },
		{ 32, 24, REACH_POSSIBLE, 0 }, { 16, 8, REACH_POSSIBLE, 0 },
		{ 18, 16, REACH_DEFINITE, 1 }, { 17, 16, REACH_DEFINITE, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		_cleanup_(heap_done) struct heap heap;

		begin(&heap);
		heap.roots.data[0].flags = REACH_ROOT_GLIBC;
		heap_block(&heap, A, rows[i].size, 0);
		heap_put(&heap, DATA + 64, A + rows[i].inside);
		heap_check(&heap);
		assert_class(&heap, A, rows[i].class);
		assert_int_equal(heap.stats.glibc_words, rows[i].ignored);
	}
}

static void unreadable_pages_are_counted_and_gone_around(void **state)
{
	_cleanup_(heap_done) struct heap heap;
	uint64_t large = HEAP + 0x10000;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 16, 0);
	heap_block(&heap, B, 16, 0);
	heap_block(&heap, C, 16, 0);
	heap_block(&heap, large, 0x8000, 0);
	heap_put(&heap, DATA + 8, large);
	heap_put(&heap, large + 0x1ff8, A);
	heap_put(&heap, large + 0x2000, B); /* on the unreadable page */
	heap_put(&heap, large + 0x3000, C);
	heap_unreadable(&heap, large + 0x2000);
	heap_unreadable(&heap, DATA + 0x1000);
	heap_check(&heap);
	assert_class(&heap, A, REACH_REACHABLE);
	assert_class(&heap, B, REACH_DEFINITE);
	assert_class(&heap, C, REACH_REACHABLE);
	assert_int_equal(heap.stats.unreadable_bytes, 0x2000);
	assert_int_equal(heap.stats.root_bytes, 0x1000);
	assert_int_equal(heap.stats.block_bytes, 0x7000 + 16 + 16 + 16);
}

static void memory_that_is_not_there_is_unreadable(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_root(&heap, 0x700000, 0x700000 + 0x1800, 0);
	heap_block(&heap, 0x20000000, 24, 0);
	heap_put(&heap, DATA, 0x20000000 + 8);
	heap_check(&heap);
	assert_class(&heap, 0x20000000, REACH_POSSIBLE); /* no heuristic could look */
	assert_int_equal(heap.stats.unreadable_bytes, 0x1800 + 24);
}

static void words_that_are_not_in_use_hold_nothing(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	for (uint64_t i = 0; i < 6; i++)
		heap_block(&heap, A + i * 0x100, 16, 0);
	heap_block(&heap, HEAP + 0x1000, 0x1000, 0); /* with a stack in it */
	heap_put(&heap, DATA, A);
	heap_put(&heap, DATA + 0x100, B);
	heap_put(&heap, DATA + 0x200, C);
	heap_put(&heap, DATA + 0x300, HEAP + 0x1000);
	heap_put(&heap, HEAP + 0x1000, D);
	heap_put(&heap, HEAP + 0x1800, A + 0x400);
	heap_put(&heap, HEAP + 0x1ff8, A + 0x500);
	heap_unused(&heap, DATA - 0x1000, DATA + 8);
	heap_unused(&heap, DATA + 0x200, DATA + 0x208);
	heap_unused(&heap, HEAP + 0x1008, HEAP + 0x1ff8);
	heap_check(&heap);
	assert_class(&heap, A, REACH_DEFINITE);
	assert_class(&heap, B, REACH_REACHABLE);
	assert_class(&heap, C, REACH_DEFINITE);
	assert_class(&heap, D, REACH_REACHABLE);
	assert_class(&heap, A + 0x400, REACH_DEFINITE);
	assert_class(&heap, A + 0x500, REACH_REACHABLE);
	assert_int_equal(heap.stats.root_bytes, DATA_SIZE - 16);
}

static void a_list_of_a_hundred_thousand_is_followed(void **state)
{
	_cleanup_(heap_done) struct heap heap;
	enum { N = 100000 };
	uint64_t base = 0x7f0000000000;

	(void)state;
	begin(&heap);
	heap_region(&heap, base, N * 32 / 4096 * 4096 + 4096);
	for (uint64_t i = 0; i < N; i++) {
		heap_block(&heap, base + i * 32, 24, 0);
		if (i)
			heap_put(&heap, base + i * 32 + 8, base + (i - 1) * 32);
	}
	heap_put(&heap, DATA + 16, base + (N / 2) * 32);
	heap_check(&heap);
	for (uint64_t i = 0; i < N; i++) {
		const struct reach_verdict *v = &heap.verdicts[i];

		assert_int_equal(v->class, i <= N / 2 ? REACH_REACHABLE :
					   i == N - 1 ? REACH_DEFINITE :
							REACH_INDIRECT);
		assert_true(v->leader == (v->class == REACH_INDIRECT ? N - 1 : REACH_NO_LEADER));
	}
}

static void a_huge_block_is_looked_through_by_all_threads(void **state)
{
	_cleanup_(heap_done) struct heap heap;
	uint64_t huge = 0x7f0000000000, size = 40ULL << 20;

	(void)state;
	begin(&heap);
	heap.opts.threads = 4;
	heap_region(&heap, huge, size);
	heap_block(&heap, huge, size, 0);
	heap_block(&heap, A, 16, 0);
	heap_block(&heap, B, 16, 0);
	heap_put(&heap, DATA, huge + size - 1);
	heap_put(&heap, huge + size - 8, A);
	heap_put(&heap, huge + (17 << 20), B);
	heap_check(&heap);
	assert_class(&heap, huge, REACH_POSSIBLE);
	assert_class(&heap, A, REACH_POSSIBLE);
	assert_class(&heap, B, REACH_POSSIBLE);
	assert_int_equal(heap.stats.block_bytes, size + 32);
}

static void overlapping_blocks_end_where_the_next_begins(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 0x180, 0);
	heap_block(&heap, B, 16, 0);
	heap_put(&heap, DATA, A + 0x140); /* behind B, whose like A no longer has */
	heap_put(&heap, DATA + 8, B);
	heap_check(&heap);
	assert_int_equal(heap.stats.overlapping, 1);
	assert_class(&heap, A, REACH_DEFINITE);
	assert_class(&heap, B, REACH_REACHABLE);
}

static void wrong_input_is_refused(void **state)
{
	static const struct reach_block rows[][2] = {
		{ { A, 16, 0 }, { A, 16, 0 } },
		{ { B, 16, 0 }, { A, 16, 0 } },
		{ { 0, 16, 0 }, { A, 16, 0 } },
		{ { A, 16, 0 }, { UINT64_MAX - 8, 16, 0 } },
	};
	struct reach_verdict verdicts[2];
	struct reach_stats stats;
	struct reach_opts opts;

	(void)state;
	reach_opts_init(&opts);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct reach_input input = { .blocks = rows[i], .n_blocks = 2, .read = heap_read };

		assert_int_equal(reach_classify(&input, &opts, verdicts, &stats), -EINVAL);
	}
	for (uint32_t alignment = 0; alignment < 17; alignment++) {
		struct reach_input input = { .read = heap_read };
		bool right = alignment == 1 || alignment == 2 || alignment == 4 || alignment == 8;

		opts.alignment = alignment;
		assert_int_equal(reach_classify(&input, &opts, verdicts, &stats),
				 right ? 0 : -EINVAL);
	}
}

static void a_deadline_that_is_over_leaves_nothing_certain(void **state)
{
	_cleanup_(heap_done) struct heap heap;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 16, 0);
	heap_put(&heap, DATA, A);
	heap.opts.deadline_ns = 1;
	heap_check(&heap);
	assert_int_equal(heap.stats.end, REACH_CUT_ROOTS);
}

/* Reads as heap_read, and lets the deadline pass when the trap is read. */
struct trap {
	struct heap *heap;
	uint64_t addr, deadline_ns;
};

static int read_with_trap(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct trap *trap = ctx;

	while (addr <= trap->addr && trap->addr - addr < size &&
	       clock_monotonic_ns() < trap->deadline_ns)
		;
	return heap_read(trap->heap, addr, buf, size);
}

static void a_deadline_among_lost_blocks_leaves_the_lost_known(void **state)
{
	_cleanup_(heap_done) struct heap heap;
	struct trap trap = { &heap, A, 0 };
	struct reach_verdict verdicts[130];
	struct reach_input input;

	(void)state;
	begin(&heap);
	heap_block(&heap, A, 16, 0); /* looked through first, and slowly */
	for (uint64_t i = 0; i < 129; i++)
		heap_block(&heap, HEAP + 0x10000 + i * 64, 64, 0);
	heap_put(&heap, HEAP + 0x10000, HEAP + 0x10000 + 64);
	for (uint64_t i = 100; i < 128; i++)
		heap_put(&heap, HEAP + 0x10000 + i * 64, HEAP + 0x10000 + (i + 1) * 64);
	input = heap_input(&heap);
	input.read = read_with_trap;
	input.ctx = &trap;
	trap.deadline_ns = heap.opts.deadline_ns = clock_monotonic_ns() + 200000000;
	assert_int_equal(reach_classify(&input, &heap.opts, verdicts, &heap.stats), 0);
	assert_int_equal(heap.stats.end, REACH_CUT_CLIQUES);
	assert_int_equal(verdicts[2].class, REACH_INDIRECT); /* before the clock was looked at */
	assert_int_equal(verdicts[129].class, REACH_DEFINITE);
	for (size_t i = 0; i < 130; i++)
		assert_true(verdicts[i].class <= REACH_INDIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nine_shapes_are_told_as_memcheck_does),
		cmocka_unit_test(nothing_at_all_is_complete),
		cmocka_unit_test(a_cycle_hangs_on_its_lowest_block),
		cmocka_unit_test(a_block_that_points_to_itself_is_definite),
		cmocka_unit_test(a_leader_that_is_taken_brings_what_hangs_on_it),
		cmocka_unit_test(what_only_a_reachable_or_possible_block_holds_is_not_lost),
		cmocka_unit_test(a_start_pointer_beats_one_inside),
		cmocka_unit_test(one_past_the_end_is_outside_unless_asked),
		cmocka_unit_test(a_block_of_no_bytes_is_reachable_by_its_address),
		cmocka_unit_test(misaligned_pointers_count_only_when_asked),
		cmocka_unit_test(registers_alone_are_roots),
		cmocka_unit_test(blocks_that_are_roots_hold_what_they_point_to),
		cmocka_unit_test(blocks_are_taken_out_of_roots),
		cmocka_unit_test(words_of_main_arena_do_not_keep_blocks),
		cmocka_unit_test(unreadable_pages_are_counted_and_gone_around),
		cmocka_unit_test(memory_that_is_not_there_is_unreadable),
		cmocka_unit_test(words_that_are_not_in_use_hold_nothing),
		cmocka_unit_test(a_list_of_a_hundred_thousand_is_followed),
		cmocka_unit_test(a_huge_block_is_looked_through_by_all_threads),
		cmocka_unit_test(overlapping_blocks_end_where_the_next_begins),
		cmocka_unit_test(wrong_input_is_refused),
		cmocka_unit_test(a_deadline_that_is_over_leaves_nothing_certain),
		cmocka_unit_test(a_deadline_among_lost_blocks_leaves_the_lost_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
