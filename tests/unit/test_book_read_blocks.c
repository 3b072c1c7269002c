/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book_read.h"

#include "book_fixture.h"
#include "trace/books/book.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CUT 8
#define MOST 8

struct blocks {
	struct book_block block[MOST];
	size_t n;
};

static int add_block(const struct book_block *block, void *userdata)
{
	struct blocks *blocks = userdata;

	assert_true(blocks->n < MOST);
	blocks->block[blocks->n++] = *block;
	return 0;
}

static void put_block(const struct hand_book *hand, uint64_t bucket, size_t way, uint64_t address)
{
	hand_bucket(hand, bucket)->address[way] = address;
	hand_bucket(hand, bucket)->block[way] = (struct abi_book_block){
		.size_fn = ABI_BOOK_SIZE_FN(1000 + way, 3, ABI_FORM_ARRAY, ABI_BOOK_NEW),
		.node = 9,
		.tick = 5,
	};
}

static void blocks_of_the_table_are_read(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	static const uint32_t huge[] = { ABI_BOOK_DOUBLINGS, ABI_BOOK_DOUBLINGS + 1,
					 ABI_BOOK_DOUBLINGS | ABI_BOOK_DOUBLES };
	const uint64_t last = ABI_BOOK_BUCKETS(3) - 1;
	struct blocks blocks = {};

	put_block(hand, 0, 0, 0x1000);
	put_block(hand, 100, 2, 0x2000);
	put_block(hand, last, 4, 0x3000);
	put_block(hand, last + 1, 0, 0x5000);
	put_block(hand, 7, 0, ABI_BLOCK_BUSY);
	put_block(hand, 7, 1, 0x1004);
	put_block(hand, 7, 2, ABI_ADDR_LIMIT);
	put_block(hand, 7, 3, 0x4000);
	hand_bucket(hand, 7)->block[3].node = ABI_BOOK_NODES;
	hand_header(hand)->doublings = 3;
	assert_int_equal(book_read_blocks(book, 0, add_block, &blocks), 0);
	assert_int_equal(blocks.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(blocks.block[i].address, 0x1000 * (i + 1));
		assert_int_equal(blocks.block[i].size, 1000 + 2 * i);
		assert_int_equal(blocks.block[i].function, ABI_BOOK_NEW);
		assert_int_equal(blocks.block[i].form, ABI_FORM_ARRAY);
		assert_int_equal(blocks.block[i].node, 9);
		assert_int_equal(blocks.block[i].tick, 5);
	}
	assert_int_equal(book_read_blocks(book, 1, add_block, &blocks), -ETIME);
	/* They would be read for seconds. */
	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		hand_header(hand)->doublings = huge[i];
		assert_int_equal(book_read_blocks(book, 0, add_block, &blocks), -EBADMSG);
	}
	assert_int_equal(blocks.n, 3);
}

struct doubling {
	const struct hand_book *hand;
	struct blocks blocks;
};

/* When the lower half has been read, a block goes there from the upper one, and one to there. */
static int move_meanwhile(const struct book_block *block, void *userdata)
{
	struct doubling *doubling = userdata;

	if (doubling->blocks.n == 1) {
		put_block(doubling->hand, 3, 0, 0x3000);
		hand_bucket(doubling->hand, ABI_BOOK_BUCKETS(2) - 1)->address[1] = 0;
		put_block(doubling->hand, ABI_BOOK_BUCKETS(3) - 1, 0, 0x4000);
		hand_bucket(doubling->hand, 5)->address[0] = 0;
	}
	return add_block(block, &doubling->blocks);
}

static void blocks_of_a_table_that_is_doubled_are_read_once(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct doubling doubling = { .hand = hand };
	bool seen[6] = { false };

	put_block(hand, 4, 0, 0x1000);
	put_block(hand, 4 + ABI_BOOK_BUCKETS(2), 0, 0x1000);
	put_block(hand, ABI_BOOK_BUCKETS(2) - 2, 0, 0x2000);
	put_block(hand, ABI_BOOK_BUCKETS(2) - 1, 1, 0x3000);
	put_block(hand, 5, 0, 0x4000);
	put_block(hand, ABI_BOOK_BUCKETS(3) - 2, 1, 0x5000);
	hand_header(hand)->doublings = 2 | ABI_BOOK_DOUBLES;
	assert_int_equal(book_read_blocks(book, 0, move_meanwhile, &doubling), 0);
	assert_int_equal(doubling.blocks.n, 5);
	for (size_t i = 0; i < 5; i++) {
		uint64_t number = doubling.blocks.block[i].address / 0x1000;

		assert_in_range(number, 1, 5);
		assert_false(seen[number]);
		seen[number] = true;
	}
}

/* Buckets that the reader has at once. */
#define AT_ONCE 256ULL

struct moving {
	const struct hand_book *hand;
	uint64_t told, next; /* of the buckets that are there */
};

/* What has been read is given back, and what is read next is written. */
static int move_pages(const struct book_block *block, void *userdata)
{
	struct moving *moving = userdata;
	const uint64_t bytes = AT_ONCE * sizeof(struct abi_book_bucket);

	(void)block;
	if (++moving->told % (AT_ONCE * ABI_BOOK_WAYS))
		return 0;
	assert_int_equal(fallocate(moving->hand->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   (off_t)(ABI_BOOK_AT_BLOCKS + moving->next * bytes),
				   (off_t)bytes),
			 0);
	moving->next++;
	for (uint64_t i = 0; i < AT_ONCE * ABI_BOOK_WAYS; i++)
		put_block(moving->hand, moving->next * AT_ONCE + i / ABI_BOOK_WAYS,
			  i % ABI_BOOK_WAYS, 0x10000 + 16 * (moving->told + i));
	return 0;
}

static void blocks_in_pages_that_are_moved_are_no_more_than_there_is_memory_for(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct moving moving = { .hand = hand };

	for (uint64_t i = 0; i < AT_ONCE * ABI_BOOK_WAYS; i++)
		put_block(hand, i / ABI_BOOK_WAYS, i % ABI_BOOK_WAYS, 0x10000 + 16 * i);
	hand_header(hand)->doublings = 9;
	assert_int_equal(book_read_blocks(book, 0, move_pages, &moving), -EBADMSG);
	assert_true(moving.told < ABI_BOOK_BUCKETS(9) * ABI_BOOK_WAYS / 2);
}

static void put_tomb(const struct hand_book *hand, uint32_t number, uint64_t address,
		     uint32_t freed_era)
{
	*hand_tomb(hand, number) = (struct abi_book_tomb){
		.address = address,
		.block = { .size_fn = ABI_BOOK_SIZE_FN(77ULL, 3, ABI_FORM_OWN, ABI_BOOK_MALLOC),
			   .node = 4 },
		.freed_era = freed_era,
	};
}

static void what_children_may_hold_is_told(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_totals totals;
	struct blocks blocks = {};

	put_tomb(hand, 0, 0x1000, 5); /* none has this number */
	put_tomb(hand, 1, 0x2000, 5);
	put_tomb(hand, ABI_BOOK_TOMBS - 1, 0x3000, 6);
	put_tomb(hand, 2, 0x4001, 5);
	put_tomb(hand, 3, 0, 5);
	hand_header(hand)->tombs = UINT32_MAX;
	assert_int_equal(book_read_tombs(book, 0, add_block, &blocks), -EBADMSG);
	hand_write_much(hand);
	assert_int_equal(book_read_tombs(book, 0, add_block, &blocks), 0);
	assert_int_equal(blocks.n, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(blocks.block[i].address, 0x1000 * (i + 2));
		assert_int_equal(blocks.block[i].era, 3);
		assert_int_equal(blocks.block[i].freed_era, 5 + i);
		assert_int_equal(blocks.block[i].size, 77);
		assert_int_equal(blocks.block[i].node, 4);
	}
	put_block(hand, 9, 1, 0x5000 | ABI_BOOK_SHED);
	hand_header(hand)->doublings = 0;
	assert_int_equal(book_read_blocks(book, 0, add_block, &blocks), 0);
	assert_int_equal(blocks.n, 3);
	assert_true(blocks.block[2].is_shed);
	assert_int_equal(blocks.block[2].address, 0x5000);
	hand_header(hand)->era = 8;
	hand_header(hand)->parent_era = 7;
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(totals.era, 8);
	assert_int_equal(totals.parent_era, 7);
	assert_int_equal(book_end_forks(book, 8), 0);
	assert_int_equal(hand_header(hand)->ended_forks, 8);
}

static int double_table(const struct book_block *block, void *userdata)
{
	(void)block;
	hand_header(userdata)->doublings = 1;
	return 0;
}

static void a_table_that_was_doubled_meanwhile_is_told(void **state)
{
	struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);

	put_block(hand, 0, 0, 0x1000);
	assert_int_equal(book_read_blocks(book, 0, double_table, hand), -EAGAIN);
}

int main(void)
{
#define BOOK_TEST(f) cmocka_unit_test_setup_teardown(f, hand_book_setup, hand_book_teardown)
	const struct CMUnitTest tests[] = {
		BOOK_TEST(blocks_of_the_table_are_read),
		BOOK_TEST(blocks_of_a_table_that_is_doubled_are_read_once),
		BOOK_TEST(blocks_in_pages_that_are_moved_are_no_more_than_there_is_memory_for),
		BOOK_TEST(a_table_that_was_doubled_meanwhile_is_told),
		BOOK_TEST(what_children_may_hold_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
