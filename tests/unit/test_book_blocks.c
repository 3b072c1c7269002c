/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/book_blocks.h"
#include "sample/book_memory.h"
#include "skip_because.h"
#include "tests/unit/random_numbers.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define DOUBLINGS 10
#define SIZED 3 /* doublings of a table for some thousand blocks */
#define BYTES (ABI_BOOK_BUCKETS(DOUBLINGS) * sizeof(struct abi_book_bucket))
#define THREADS 4
#define OWN_BLOCKS 500
#define ROUNDS 200000

static struct abi_book_bucket *all;

static int begin(void **state)
{
	(void)state;
	all = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	return all == MAP_FAILED ? -1 : 0;
}

static int done(void **state)
{
	(void)state;
	return munmap(all, BYTES);
}

static struct book_block block_at(uint64_t address)
{
	return (struct book_block){ .address = address,
				    .is = { .size_fn = address >> 4 << 24 | 7,
					    .node = (uint32_t)(address >> 3),
					    .tick = (uint32_t)address ^ 5 } };
}

static void assert_block(const struct book_block *block, uint64_t address)
{
	const struct book_block wanted = block_at(address);

	assert_memory_equal(block, &wanted, sizeof(wanted));
}

static void make_larger(struct book_blocks *blocks)
{
	uint64_t n = blocks->n;
	uint32_t *places = calloc(book_blocks_elsewhere(blocks) + 1, sizeof(*places));

	assert_non_null(places);
	assert_in_range(n, 1, ABI_BOOK_BUCKETS(DOUBLINGS - 1));
	if (blocks->births)
		blocks->births = book_pages_double(blocks->births, book_births_bytes(n));
	assert_int_equal(book_blocks_double(blocks, places), 0);
	assert_int_equal(blocks->n, 2 * n);
	free(places);
}

/* Adds, in a larger table where one is full. */
static void add(struct book_blocks *blocks, uint64_t address)
{
	const struct book_block block = block_at(address);
	struct book_block stale;

	while (book_blocks_add(blocks, &block, true, &stale) == BOOK_FULL)
		make_larger(blocks);
	assert_int_equal(stale.address, 0);
}

/* As an allocator hands them out: blocks of `size` bytes side by side, from several places. */
static uint64_t address_of(uint64_t i, uint64_t size)
{
	return 0x555500000010 + (i % 3) * 0x7000000000 + i / 3 * size;
}

static void what_is_added_is_found_however_large_the_table_grows(void **state)
{
	static const uint64_t sizes[] = { 8, 16, 32, 48, 100 * 8, 4096, 65536 };
	const uint64_t n = 100000;

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct book_blocks blocks;
		struct book_block block;

		assert_int_equal(madvise(all, BYTES, MADV_DONTNEED), 0);
		book_blocks_use(&blocks, all, 0);
		for (uint64_t i = 0; i < n; i++)
			add(&blocks, address_of(i, sizes[s]));
		/* It grew when it was more than half full, and not before. */
		assert_true(blocks.n * ABI_BOOK_WAYS < n * 4);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t address = address_of(i * 7919 % n, sizes[s]);

			assert_true(book_blocks_take(&blocks, address, true, &block));
			assert_block(&block, address);
			assert_false(book_blocks_take(&blocks, address, true, &block));
		}
		for (uint64_t i = 0; i < blocks.n; i++) {
			assert_int_equal(blocks.buckets[i].elsewhere, 0);
			for (int way = 0; way < ABI_BOOK_WAYS; way++)
				assert_int_equal(blocks.buckets[i].address[way] & ~7ULL &&
							 !(blocks.buckets[i].address[way] &
							   ABI_BOOK_FREED),
						 0);
		}
	}
}

/* Of blocks that are put in and taken out at random. */
static void each_block_keeps_its_birth_where_it_is_moved(void **state)
{
	const uint64_t n = 20000;
	struct book_blocks blocks;

	(void)state;
	assert_int_equal(madvise(all, BYTES, MADV_DONTNEED), 0);
	book_blocks_use(&blocks, all, 0);
	assert_null(book_blocks_birth(&blocks, address_of(0, 16)));
	blocks.births = book_pages(book_births_bytes(blocks.n));
	assert_non_null(blocks.births);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t earlier = address_of(i / 2, 16);
		struct book_block block;

		add(&blocks, address_of(i, 16));
		book_blocks_birth(&blocks, address_of(i, 16))->time_ns = address_of(i, 16);
		if (i % 2)
			assert_true(book_blocks_take(&blocks, earlier, true, &block));
	}
	for (uint64_t i = n / 2; i < n; i++)
		assert_int_equal(book_blocks_birth(&blocks, address_of(i, 16))->time_ns,
				 address_of(i, 16));
	assert_true(blocks.n > ABI_BOOK_BUCKETS(2));
	assert_null(book_blocks_birth(&blocks, address_of(0, 16)));
	book_pages_free(blocks.births, book_births_bytes(blocks.n));
}

#define WHILE_DOUBLED 1500

/* As those of a process that ends in the middle, or whose forked child looks meanwhile. */
static void assert_all_are_there(const struct book_blocks *blocks)
{
	for (uint64_t i = 0; i < WHILE_DOUBLED; i++) {
		struct book_block block;

		if (!book_blocks_find(blocks, address_of(i, 16), &block))
			fail_msg("block %d is not there", (int)i);
		assert_block(&block, address_of(i, 16));
	}
}

#ifdef __x86_64__

#define TRAP_FLAG 0x100

static struct book_blocks looked; /* by who sees that it is doubled */
static unsigned long n_steps;

static void after_an_instruction(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	if (n_steps++ % 29 == 0)
		assert_all_are_there(&looked);
}

static void set_trap_flag(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}

static void blocks_are_found_at_each_moment_of_a_doubling(void **state)
{
	const struct sigaction step = { .sa_sigaction = after_an_instruction,
					.sa_flags = SA_SIGINFO };
	static uint32_t places[WHILE_DOUBLED];
	struct book_blocks blocks;
	struct sigaction old;
	uint64_t n_lost;

	(void)state;
	book_blocks_use(&blocks, all, SIZED);
	for (uint64_t i = 0; i < WHILE_DOUBLED; i++)
		add(&blocks, address_of(i, 16));
	assert_int_equal(blocks.n, ABI_BOOK_BUCKETS(SIZED));
	assert_in_range(book_blocks_elsewhere(&blocks), 100, WHILE_DOUBLED);
	book_blocks_use(&looked, all, SIZED | ABI_BOOK_DOUBLES);
	assert_int_equal(sigaction(SIGTRAP, &step, &old), 0);
	set_trap_flag(true);
	n_lost = book_blocks_double(&blocks, places);
	set_trap_flag(false);
	assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
	assert_int_equal(n_lost, 0);
	assert_in_range(n_steps, 10000, 10000000);
	assert_all_are_there(&blocks);
}

#else

static void blocks_are_found_at_each_moment_of_a_doubling(void **state)
{
	(void)state;
	skip_because("books are of x86-64");
}

#endif

static void the_newest_frees_are_known(void **state)
{
	const uint64_t address = 0x555500000010;
	struct book_block block = block_at(address), found;
	struct book_blocks blocks;

	(void)state;
	book_blocks_use(&blocks, all, 0);
	assert_false(book_blocks_find(&blocks, address | ABI_BOOK_FREED, &found));
	assert_int_equal(book_blocks_add(&blocks, &block, true, &found), BOOK_ADDED);
	assert_true(book_blocks_find(&blocks, address, &found));
	assert_false(book_blocks_find(&blocks, address | ABI_BOOK_FREED, &found));
	assert_true(book_blocks_take(&blocks, address, true, &found));
	assert_false(book_blocks_find(&blocks, address, &found));
	assert_true(book_blocks_find(&blocks, address | ABI_BOOK_FREED, &found));
	found.address = address;
	assert_block(&found, address);
	/* Its way is free for another one. */
	block = block_at(address + 16);
	assert_int_equal(book_blocks_add(&blocks, &block, true, &found), BOOK_ADDED);
	assert_true(book_blocks_find(&blocks, address + 16, &found));
}

static void one_of_the_same_address_is_told(void **state)
{
	struct book_block block = block_at(0x555500000010), stale;
	struct book_blocks blocks;

	(void)state;
	book_blocks_use(&blocks, all, 0);
	assert_int_equal(book_blocks_add(&blocks, &block, true, &stale), BOOK_ADDED);
	assert_int_equal(stale.address, 0);
	block.is.node = 99;
	assert_int_equal(book_blocks_add(&blocks, &block, true, &stale), BOOK_ADDED);
	assert_block(&stale, 0x555500000010);
	assert_true(book_blocks_take(&blocks, 0x555500000010, true, &stale));
	assert_int_equal(stale.is.node, 99);
	assert_false(book_blocks_take(&blocks, 0x555500000010, true, &stale));
}

/* Nothing is left of those that have gone, by which more would be looked for than there is. */
static void those_that_are_elsewhere_are_counted_one_by_one(void **state)
{
	const uint64_t n = 2 * ABI_BOOK_WAYS + 8;
	struct book_block block, stale;
	struct book_blocks blocks;

	(void)state;
	book_blocks_use(&blocks, all, 0);
	/* So far from each other that their first bucket is the same. */
	for (uint64_t i = 0; i < n; i++) {
		block = block_at(0x555500000010 + i * blocks.n * 128);
		assert_int_equal(book_blocks_add(&blocks, &block, true, &stale), BOOK_ADDED);
		assert_int_equal(book_blocks_elsewhere(&blocks),
				 i < ABI_BOOK_WAYS ? 0 : i + 1 - ABI_BOOK_WAYS);
	}
	/* Those in the first bucket go last. */
	for (uint64_t i = n; i-- > 0;) {
		uint64_t address = 0x555500000010 + i * blocks.n * 128;

		assert_true(book_blocks_find(&blocks, address, &block));
		assert_true(book_blocks_take(&blocks, address, true, &block));
		assert_block(&block, address);
		assert_false(book_blocks_find(&blocks, address, &block));
		assert_int_equal(book_blocks_elsewhere(&blocks),
				 i < ABI_BOOK_WAYS ? 0 : i - ABI_BOOK_WAYS);
	}
	for (uint64_t i = 0; i < blocks.n; i++)
		assert_int_equal(blocks.buckets[i].elsewhere, 0);
}

struct worker {
	struct book_blocks blocks;
	uint64_t number;
	uint64_t wrong;
};

/* Each has addresses of its own, which lie between those of others: in the same buckets. */
static void *work(void *data)
{
	struct worker *worker = data;
	struct random_numbers random = random_from(worker->number);
	bool there[OWN_BLOCKS] = { false };

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t n = random_below(&random, OWN_BLOCKS);
		uint64_t address = 0x555500000010 + (n * THREADS + worker->number) * 16;
		struct book_block block = block_at(address), stale;

		if (!there[n]) {
			/* Full, it is left out. */
			there[n] = book_blocks_add(&worker->blocks, &block, false, &stale) ==
				   BOOK_ADDED;
			worker->wrong += stale.address != 0;
		} else {
			there[n] = false;
			worker->wrong +=
				!book_blocks_take(&worker->blocks, address, false, &stale) ||
				memcmp(&block, &stale, sizeof(block)) != 0;
		}
	}
	for (uint64_t n = 0; n < OWN_BLOCKS; n++) {
		uint64_t address = 0x555500000010 + (n * THREADS + worker->number) * 16;
		struct book_block block;

		worker->wrong +=
			book_blocks_take(&worker->blocks, address, false, &block) != there[n];
	}
	return NULL;
}

static void threads_do_not_lose_each_others(void **state)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .number = i };
		book_blocks_use(&workers[i].blocks, all, SIZED);
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(workers[i].wrong, 0);
	}
	for (uint64_t i = 0; i < ABI_BOOK_BUCKETS(SIZED); i++)
		assert_int_equal(all[i].elsewhere, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_is_added_is_found_however_large_the_table_grows, begin, done),
		cmocka_unit_test_setup_teardown(each_block_keeps_its_birth_where_it_is_moved, begin,
						done),
		cmocka_unit_test_setup_teardown(blocks_are_found_at_each_moment_of_a_doubling,
						begin, done),
		cmocka_unit_test_setup_teardown(the_newest_frees_are_known, begin, done),
		cmocka_unit_test_setup_teardown(one_of_the_same_address_is_told, begin, done),
		cmocka_unit_test_setup_teardown(those_that_are_elsewhere_are_counted_one_by_one,
						begin, done),
		cmocka_unit_test_setup_teardown(threads_do_not_lose_each_others, begin, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
