/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the library keeps of frees: pairs of places, and the newest ones. */
#include "sample/book_frees.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PAIRS_BYTES (ABI_BOOK_PAIRS * sizeof(struct abi_book_pair))

static struct book_thread *thread;

static int begin(void **state)
{
	(void)state;
	book.header = calloc(1, sizeof(*book.header));
	book.threads = calloc(2, sizeof(*book.threads));
	book.pairs = mmap(NULL, PAIRS_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	book.freed = calloc(ABI_FREED_BLOCKS, sizeof(*book.freed));
	thread = calloc(1, sizeof(*thread));
	if (!book.freed || !book.header || !book.threads || book.pairs == MAP_FAILED || !thread)
		return -1;
	thread->number = 1;
	thread->shared = &book.threads[1];
	thread->shared->tid = 77;
	book_frees_begin();
	return 0;
}

static int done(void **state)
{
	(void)state;
	book_frees_begin();
	book_index_free(&thread->pairs);
	free(thread);
	(void)munmap(book.pairs, PAIRS_BYTES); /* it was mapped */
	free(book.freed);
	free(book.threads);
	free(book.header);
	return 0;
}

static struct book_block block_at(uint64_t address, uint32_t node)
{
	return (struct book_block){ .address = address,
				    .is = { .size_fn = ABI_BOOK_SIZE_FN(100ULL, 0, ABI_FORM_OWN,
									ABI_BOOK_MALLOC),
					    .node = node } };
}

static void drop(uint32_t node, uint32_t free_node, uint64_t born_ns, uint32_t tid, uint64_t now_ns)
{
	const struct book_block block = block_at(0x1000, node);
	const struct book_birth birth = { born_ns, tid };
	const struct book_free by = { ABI_BOOK_FREE, free_node, now_ns };

	book_pair_add(thread, &block, &birth, &by);
}

static void frees_are_counted_by_both_places(void **state)
{
	const struct abi_free_pair *counts = &book.pairs[1].counts;

	(void)state;
	drop(5, 6, 1000, 77, 1000 + (1 << ABI_LIFETIME_SHIFT) - 1);
	drop(5, 6, 1000, 78, 1000 + (1 << ABI_LIFETIME_SHIFT));
	drop(5, 6, 0, 0, 5000);
	drop(5, 6, 5, 77, UINT64_MAX);
	drop(5, 7, 1000, 77, 2000);
	assert_int_equal(book.header->pairs, 2);
	assert_int_equal(book.pairs[1].node, 5);
	assert_int_equal(book.pairs[1].free_node, 6);
	assert_int_equal(book.pairs[1].function, ABI_BOOK_MALLOC);
	assert_int_equal(book.pairs[1].free_function, ABI_BOOK_FREE);
	assert_int_equal(book.pairs[1].thread, 1);
	assert_int_equal(counts->count, 4);
	assert_int_equal(counts->bytes, 400);
	assert_int_equal(counts->others, 1);
	assert_int_equal(counts->unknown, 1);
	assert_int_equal(counts->lifetimes[0], 1);
	assert_int_equal(counts->lifetimes[1], 1);
	assert_int_equal(counts->lifetimes[ABI_LIFETIMES - 1], 1);
	assert_int_equal(book.pairs[2].counts.count, 1);
	assert_int_equal(book.pairs[2].counts.total_ns, 1000);
}

static void many_pairs_are_found_again(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 5000; i++)
			drop(i, i * 7, 1000, 77, 2000);
	for (uint32_t i = 1; i <= book.header->pairs; i++)
		if (book.pairs[i].free_node == book.pairs[i].node * 7)
			assert_int_equal(book.pairs[i].counts.count, 2);
	assert_int_equal(book.header->lost[ABI_BOOK_LOST_PAIRS], 0);
}

static void pairs_without_room_are_counted(void **state)
{
	(void)state;
	book.header->pairs = ABI_BOOK_PAIRS - 2;
	drop(8000000, 1, 1000, 77, 2000);
	assert_int_equal(book.header->lost[ABI_BOOK_LOST_PAIRS], 0);
	drop(8000001, 1, 1000, 77, 2000);
	drop(8000002, 1, 1000, 77, 2000);
	assert_int_equal(book.header->lost[ABI_BOOK_LOST_PAIRS], 2);
	assert_int_equal(book.header->pairs, ABI_BOOK_PAIRS);
}

static void remember(uint64_t address, uint32_t node)
{
	const struct book_block block = block_at(address, node);
	const struct book_free by = { ABI_BOOK_FREE, node + 1, 0 };

	book_freed_add(&block, &by);
}

static void the_newest_frees_are_remembered(void **state)
{
	struct book_block block;
	struct book_free by;

	(void)state;
	assert_false(book_freed_find(0x10, &block, &by));
	remember(0x10, 3);
	remember(0x20, 5);
	remember(0x10, 7);
	assert_true(book_freed_find(0x10, &block, &by));
	assert_int_equal(block.is.node, 7);
	assert_int_equal(by.node, 8);
	assert_int_equal(by.function, ABI_BOOK_FREE);
	for (uint64_t i = 0; i < 3 * ABI_FREED_BLOCKS; i++)
		remember(0x10000 + 16 * i, 9);
	assert_false(book_freed_find(0x10, &block, &by));
	assert_false(book_freed_find(0x10000 + 16 * (2 * ABI_FREED_BLOCKS - 1), &block, &by));
	for (uint64_t i = 2 * ABI_FREED_BLOCKS; i < 3 * ABI_FREED_BLOCKS; i++)
		assert_true(book_freed_find(0x10000 + 16 * i, &block, &by));
}

/* As often as one address comes, it is one of them, and takes no time. */
static void an_address_is_remembered_once(void **state)
{
	struct book_block block;
	struct book_free by;

	(void)state;
	book_frees_begin();
	remember(0x10, 3);
	for (uint32_t i = 0; i < 20 * ABI_FREED_BLOCKS; i++)
		remember(0x20 + i % 8 * 16, i % 1000);
	assert_true(book_freed_find(0x10, &block, &by));
	assert_int_equal(block.is.node, 3);
	for (uint64_t i = 0; i < ABI_FREED_BLOCKS - 8; i++)
		remember(0x10000 + 16 * i, 9);
	assert_false(book_freed_find(0x10, &block, &by));
	assert_true(book_freed_find(0x20, &block, &by));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frees_are_counted_by_both_places),
		cmocka_unit_test(many_pairs_are_found_again),
		cmocka_unit_test(pairs_without_room_are_counted),
		cmocka_unit_test(the_newest_frees_are_remembered),
		cmocka_unit_test(an_address_is_remembered_once),
	};

	return cmocka_run_group_tests(tests, begin, done);
}
