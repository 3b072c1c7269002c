/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book_read.h"

#include "base/clock.h"
#include "book_fixture.h"
#include "bpf/abi_heap_error.h"
#include "bpf/abi_unwind.h"
#include "trace/books/book.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#define CUT 8

/* --- sites ----------------------------------------------------------------------------------- */

#define MOST 8
struct sites {
	struct book_site site[MOST];
	size_t n;
};

static int add_site(const struct book_site *site, void *userdata)
{
	struct sites *sites = userdata;

	assert_true(sites->n < MOST);
	sites->site[sites->n++] = *site;
	return 0;
}

static void put_site(const struct hand_book *hand, uint32_t number, uint32_t node, int64_t live)
{
	*hand_site(hand, number) = (struct abi_book_site){
		.node = node,
		.function = ABI_BOOK_CALLOC,
		.thread = 1,
		.now = { .live_bytes = live, .live_blocks = 1, .allocs = 1, .peak_blocks = 4 },
		.peak_bytes = live + 1,
	};
	*hand_site_cut(hand, number) = (struct abi_book_site_cut){
		.peak_bytes = live + 3,
		.counts = { .live_bytes = live + 2, .peak_blocks = 5 },
	};
}

static struct sites read_sites(const struct book *book)
{
	struct sites sites = {};

	assert_int_equal(book_read_sites(book, CUT, add_site, &sites), 0);
	return sites;
}

static void sites_far_apart_are_read(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct stat before, after;
	struct sites sites;

	put_site(hand, 0, 10, 100); /* none has this number */
	put_site(hand, 1, 11, 100);
	put_site(hand, 42, 12, -200); /* over the end of a page */
	put_site(hand, ABI_BOOK_SITES - 1, 13, 300);
	put_site(hand, 43, 14, 400);
	hand_site(hand, 43)->thread = 0; /* is being written */
	put_site(hand, 44, 14, 400);
	hand_site(hand, 44)->function = ABI_BOOK_FUNCTIONS;
	put_site(hand, 45, ABI_BOOK_NODES, 400);
	assert_int_equal(read_sites(book).n, 0);
	hand_header(hand)->sites = UINT32_MAX;
	assert_int_equal(book_read_sites(book, CUT, add_site, &sites), -EBADMSG);
	hand_write_much(hand);
	assert_int_equal(fstat(hand->fd, &before), 0);
	sites = read_sites(book);
	assert_int_equal(sites.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sites.site[i].node, 11 + i);
	assert_int_equal(sites.site[1].counts.live_bytes, -200);
	assert_int_equal(sites.site[1].function, ABI_BOOK_CALLOC);
	assert_int_equal(sites.site[2].counts.live_bytes, 300);
	/* Nothing was made where nobody wrote. */
	assert_int_equal(fstat(hand->fd, &after), 0);
	assert_int_equal(before.st_blocks, after.st_blocks);
}

static void a_site_is_what_it_was_at_the_cut(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	static const struct {
		uint32_t cut_epoch, peak_epoch;
		int64_t live, peak, peak_blocks;
	} rows[] = {
		{ CUT - ABI_CUT_STEP, 5, 100, 101, 4 }, /* unchanged since then and the peak */
		{ CUT - ABI_CUT_STEP, 4, 100, 100, 1 },
		{ CUT, 5, 102, 103, 5 },
		{ CUT | ABI_CUT_BUSY, 4, 102, 103, 5 },
	};

	hand_header(hand)->sites = 1;
	hand_header(hand)->peak_epoch = 5;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sites sites;

		put_site(hand, 1, 1, 100);
		hand_site(hand, 1)->cut_epoch = rows[i].cut_epoch;
		hand_site(hand, 1)->peak_epoch = rows[i].peak_epoch;
		sites = read_sites(book);
		assert_int_equal(sites.n, 1);
		assert_int_equal(sites.site[0].counts.live_bytes, rows[i].live);
		assert_int_equal(sites.site[0].peak_bytes, rows[i].peak);
		assert_int_equal(sites.site[0].counts.peak_blocks, rows[i].peak_blocks);
	}
}

static int ignore_site(const struct book_site *site, void *userdata)
{
	(void)site, (void)userdata;
	return 0;
}

static void sites_that_add_up_to_too_much_are_refused(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);

	hand_header(hand)->sites = 1000;
	put_site(hand, 1, 1, INT64_MIN);
	assert_int_equal(book_read_sites(book, CUT, ignore_site, NULL), -EBADMSG);
	for (uint32_t i = 1; i <= 1000; i++)
		put_site(hand, i, 1, 1LL << 46);
	assert_int_equal(book_read_sites(book, CUT, ignore_site, NULL), -EBADMSG);
}

/* A writer by the rules: it saves for the cut before it changes. */
static void *changes_sites(void *arg)
{
	const struct hand_book *hand = arg;
	struct abi_book_header *header = hand_header(hand);
	struct abi_book_site *site = hand_site(hand, 1);

	while (!__atomic_load_n(&header->failed, __ATOMIC_RELAXED)) {
		uint32_t cut = __atomic_load_n(&header->cut_epoch, __ATOMIC_ACQUIRE);

		if (site->cut_epoch != cut) {
			hand_site_cut(hand, 1)->counts = site->now;
			__atomic_store_n(&site->cut_epoch, cut, __ATOMIC_RELEASE);
		}
		/* In memory in this order: one that is half changed is seen. */
		__atomic_store_n(&site->now.live_bytes, site->now.live_bytes + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&site->now.allocs, site->now.allocs + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&site->now.bytes, site->now.bytes + 1, __ATOMIC_RELEASE);
		__atomic_fetch_add(&hand_thread(hand, 0)->at, 2, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void a_site_that_changes_is_read_whole(void **state)
{
	struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	pthread_t thread;

	put_site(hand, 1, 1, 0);
	hand_site(hand, 1)->now = (struct abi_site_counts){};
	hand_site(hand, 1)->cut_epoch = CUT;
	hand_header(hand)->sites = 1;
	hand_header(hand)->cut_epoch = CUT;
	assert_int_equal(pthread_create(&thread, NULL, changes_sites, hand), 0);
	for (uint32_t cut = CUT + ABI_CUT_STEP; cut < 2000; cut += ABI_CUT_STEP) {
		struct sites sites = {};
		uint32_t at;

		assert_int_equal(book_tell(book, cut, 0), 0);
		/* The writer is somewhere in a change that knows of the cut before. */
		at = __atomic_load_n(&hand_thread(hand, 0)->at, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&hand_thread(hand, 0)->at, __ATOMIC_SEQ_CST) - at < 4)
			;
		assert_int_equal(book_read_sites(book, cut, add_site, &sites), 0);
		assert_int_equal(sites.site[0].counts.live_bytes, sites.site[0].counts.allocs);
		assert_int_equal(sites.site[0].counts.live_bytes, sites.site[0].counts.bytes);
	}
	__atomic_store_n(&hand_header(hand)->failed, 1, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* --- wrong uses of the heap ------------------------------------------------------------------- */

struct errors {
	struct book_error error[MOST];
	size_t n;
};

static int add_error(const struct book_error *error, void *userdata)
{
	struct errors *errors = userdata;

	assert_true(errors->n < MOST);
	errors->error[errors->n++] = *error;
	return 0;
}

static struct abi_book_error error_of(uint16_t kind, uint16_t function, uint32_t node)
{
	return (struct abi_book_error){
		.node = node,
		.function = function,
		.kind = kind,
		.count = 2,
		.addr = 0x1008,
		.block = 0x1000,
		.about = { .size_fn = ABI_BOOK_SIZE_FN(50ULL, 0, ABI_FORM_OWN, ABI_BOOK_MALLOC),
			   .node = 6 },
	};
}

static void wrong_uses_of_the_heap_are_read(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct errors errors = {};

	*hand_error(hand, 0) = error_of(ABI_DOUBLE_FREE, ABI_BOOK_FREE, 5);
	*hand_error(hand, 1) = error_of(0, ABI_BOOK_FREE, 5);
	*hand_error(hand, 2) = error_of(ABI_REALLOC_ZERO + 1, ABI_BOOK_FREE, 5);
	*hand_error(hand, 3) = error_of(ABI_DOUBLE_FREE, ABI_BOOK_FUNCTIONS, 5);
	*hand_error(hand, 4) = error_of(ABI_DOUBLE_FREE, ABI_BOOK_FREE, ABI_BOOK_NODES);
	*hand_error(hand, 5) = error_of(ABI_INVALID_FREE, ABI_BOOK_FREE, 5);
	hand_error(hand, 5)->about.node = ABI_BOOK_NODES;
	hand_header(hand)->errors = UINT32_MAX;
	assert_int_equal(book_read_errors(book, add_error, &errors), 0);
	assert_int_equal(errors.n, 2);
	assert_int_equal(errors.error[0].kind, ABI_DOUBLE_FREE);
	assert_int_equal(errors.error[0].function, ABI_BOOK_FREE);
	assert_int_equal(errors.error[0].count, 2);
	assert_int_equal(errors.error[0].block.address, 0x1000);
	assert_int_equal(errors.error[0].block.size, 50);
	assert_int_equal(errors.error[0].block.node, 6);
	assert_int_equal(errors.error[1].kind, ABI_INVALID_FREE);
	assert_int_equal(errors.error[1].block.address, 0);
}

static void where_a_block_was_freed_before_is_read(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct errors errors = {};

	for (uint32_t i = 0; i < 3; i++) {
		*hand_error(hand, i) = error_of(ABI_DOUBLE_FREE, ABI_BOOK_FREE, 5);
		hand_error(hand, i)->freed_node = 8;
		hand_error(hand, i)->freed_function = ABI_BOOK_SDALLOCX;
	}
	hand_error(hand, 1)->freed_node = ABI_BOOK_NODES;
	hand_error(hand, 2)->freed_function = ABI_BOOK_FUNCTIONS;
	hand_header(hand)->errors = 3;
	assert_int_equal(book_read_errors(book, add_error, &errors), 0);
	assert_int_equal(errors.n, 3);
	assert_int_equal(errors.error[0].freed_node, 8);
	assert_int_equal(errors.error[0].freed_function, ABI_BOOK_SDALLOCX);
	assert_int_equal(errors.error[1].freed_function, 0);
	assert_int_equal(errors.error[2].freed_function, 0);
}

struct freed {
	struct book_freed block[MOST];
	size_t n;
};

static int add_freed(const struct book_freed *block, void *userdata)
{
	struct freed *freed = userdata;

	assert_true(freed->n < MOST);
	freed->block[freed->n++] = *block;
	return 0;
}

static struct abi_book_freed *hand_freed(const struct hand_book *hand, uint32_t number)
{
	struct abi_book_freed *freed =
		(struct abi_book_freed *)(hand->bytes + ABI_BOOK_AT_FREED) + number;

	*freed = (struct abi_book_freed){
		.address = 0x1000,
		.block = { .size_fn = ABI_BOOK_SIZE_FN(50ULL, 0, ABI_FORM_OWN, ABI_BOOK_MALLOC),
			   .node = 6 },
		.node = 7,
		.function = ABI_BOOK_FREE,
	};
	return freed;
}

static void the_newest_frees_are_read(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct freed freed = {};

	hand_freed(hand, 0);
	hand_freed(hand, 1)->address = 0;
	hand_freed(hand, 2)->address = ABI_ADDR_LIMIT;
	hand_freed(hand, 3)->node = ABI_BOOK_NODES;
	hand_freed(hand, 4)->block.node = ABI_BOOK_NODES;
	hand_freed(hand, 5)->function = 0;
	hand_freed(hand, 6)->block.size_fn = 0;
	hand_freed(hand, 1500);
	hand_freed(hand, ABI_FREED_BLOCKS - 1); /* not behind so many that are empty */
	assert_int_equal(book_read_freed(book, add_freed, &freed), 0);
	assert_int_equal(freed.n, 2);
	assert_int_equal(freed.block[1].block.address, 0x1000);
	assert_int_equal(freed.block[1].block.size, 50);
	assert_int_equal(freed.block[1].block.node, 6);
	assert_int_equal(freed.block[1].node, 7);
	assert_int_equal(freed.block[1].function, ABI_BOOK_FREE);
}

/* --- where blocks are freed ------------------------------------------------------------------- */

struct pairs {
	struct book_pair pair[MOST];
	size_t n;
};

static int add_pair(const struct book_pair *pair, void *userdata)
{
	struct pairs *pairs = userdata;

	assert_true(pairs->n < MOST);
	pairs->pair[pairs->n++] = *pair;
	return 0;
}

static struct abi_book_pair *hand_pair(const struct hand_book *hand, uint32_t number)
{
	struct abi_book_pair *pair =
		(struct abi_book_pair *)(hand->bytes + ABI_BOOK_AT_PAIRS) + number;

	*pair = (struct abi_book_pair){ .node = 5,
					.free_node = 6,
					.function = ABI_BOOK_MALLOC,
					.free_function = ABI_BOOK_FREE,
					.thread = 1,
					.counts = { .count = 3, .bytes = 300, .others = 2 } };
	return pair;
}

static void pairs_that_are_whole_are_read(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct pairs pairs = {};

	hand_pair(hand, 1);
	hand_pair(hand, 2)->thread = 0;
	hand_pair(hand, 3)->node = ABI_BOOK_NODES;
	hand_pair(hand, 4)->free_node = ABI_BOOK_NODES;
	hand_pair(hand, 5)->function = ABI_BOOK_FUNCTIONS;
	hand_pair(hand, 6)->free_function = 0;
	hand_pair(hand, 7)->counts.count = 0;
	hand_pair(hand, 8)->counts.lifetimes[31] = UINT64_MAX;
	hand_pair(hand, ABI_BOOK_PAIRS - 1)->counts.unknown = 9;
	hand_header(hand)->pairs = UINT32_MAX;
	assert_int_equal(book_read_pairs(book, add_pair, &pairs), -EBADMSG);
	hand_write_much(hand);
	assert_int_equal(book_read_pairs(book, add_pair, &pairs), 0);
	assert_int_equal(pairs.n, 3);
	assert_int_equal(pairs.pair[0].node, 5);
	assert_int_equal(pairs.pair[0].free_node, 6);
	assert_int_equal(pairs.pair[0].function, ABI_BOOK_MALLOC);
	assert_int_equal(pairs.pair[0].free_function, ABI_BOOK_FREE);
	assert_int_equal(pairs.pair[0].counts.bytes, 300);
	assert_int_equal(pairs.pair[0].counts.others, 2);
	/* No count is of more blocks than there were. */
	assert_int_equal(pairs.pair[1].counts.lifetimes[31], 3);
	assert_int_equal(pairs.pair[2].counts.unknown, 3);
	hand_pair(hand, 2)->counts.bytes = UINT64_MAX / 2;
	pairs.n = 0;
	assert_int_equal(book_read_pairs(book, add_pair, &pairs), -EBADMSG);
}

/* The process takes its pages back while we read. */
static void a_book_that_is_emptied_is_read_as_empty(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_totals totals;
	struct stat st;

	hand_header(hand)->sites = 1;
	put_site(hand, 0, 1, 100);
	assert_int_equal(fallocate(hand->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				   (off_t)ABI_BOOK_BYTES),
			 0);
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(read_sites(book).n, 0);
	assert_int_equal(book_await(book, clock_monotonic_ns()), 0);
	assert_int_equal(fstat(hand->fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
}

int main(void)
{
#define BOOK_TEST(f) cmocka_unit_test_setup_teardown(f, hand_book_setup, hand_book_teardown)
	const struct CMUnitTest tests[] = {
		BOOK_TEST(sites_far_apart_are_read),
		BOOK_TEST(a_site_is_what_it_was_at_the_cut),
		BOOK_TEST(a_site_that_changes_is_read_whole),
		BOOK_TEST(sites_that_add_up_to_too_much_are_refused),
		BOOK_TEST(wrong_uses_of_the_heap_are_read),
		BOOK_TEST(where_a_block_was_freed_before_is_read),
		BOOK_TEST(the_newest_frees_are_read),
		BOOK_TEST(pairs_that_are_whole_are_read),
		BOOK_TEST(a_book_that_is_emptied_is_read_as_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
