/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/book_totals.h"
#include "tests/unit/random_numbers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MOST 24
#define OPERATIONS 200000
#define BLOCKS 64

static struct book_thread *threads[MOST + 1];

static int begin(void **state)
{
	(void)state;
	book.header = calloc(1, sizeof(*book.header));
	book.threads = calloc(MOST + 1, sizeof(*book.threads));
	if (!book.header || !book.threads)
		return -1;
	for (int i = 1; i <= MOST; i++) {
		threads[i] = calloc(1, sizeof(*threads[i]));
		if (!threads[i])
			return -1;
		threads[i]->shared = &book.threads[i];
	}
	return 0;
}

static int done(void **state)
{
	(void)state;
	for (int i = 1; i <= MOST; i++)
		free(threads[i]);
	free(book.threads);
	free(book.header);
	return 0;
}

/* What one thread has allocated, by its own list. */
struct blocks {
	int64_t sizes[BLOCKS];
	int n;
};

static int64_t take_some(struct blocks *blocks, struct random_numbers *random, int64_t most)
{
	if (blocks->n < BLOCKS && (blocks->n == 0 || random_below(random, 2))) {
		int64_t size = (int64_t)random_below(random, (uint64_t)most);

		blocks->sizes[blocks->n++] = size;
		return size;
	}
	return -blocks->sizes[--blocks->n];
}

/* One after the other, in any order: each peak is the largest sum that there was. */
static void check_peak(uint32_t n, int64_t most, uint64_t seed)
{
	struct random_numbers random = random_from(seed);
	struct blocks blocks[MOST + 1] = { 0 };
	int64_t live = 0, peak = 0;

	book.header->threads = n;
	for (int i = 0; i < OPERATIONS; i++) {
		uint32_t number = 1 + (uint32_t)random_below(&random, n);
		int64_t bytes = take_some(&blocks[number], &random, most);

		live += bytes;
		peak = live > peak ? live : peak;
		book_add_shared(threads[number], bytes, book_peak_epoch());
		assert_int_equal(book_live_bytes(), live);
		assert_int_equal(book.header->peak_bytes, peak);
		assert_true(book.header->live_bytes <= peak);
	}
	assert_int_equal(book.header->race_bytes, 0);
}

static void the_peak_is_the_largest_sum_of_all_threads(void **state)
{
	static const struct {
		uint32_t n;
		int64_t most;
	} cases[] = {
		{ 1, 100 }, { 2, 60 }, { 2, 200000 }, { 5, 1000 }, { 16, 5000 }, { 24, 300 }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_peak(cases[i].n, cases[i].most, i);
		assert_int_equal(done(state), 0);
		assert_int_equal(begin(state), 0);
	}
}

struct worker {
	uint32_t number;
	int64_t live, most_live;
};

static void *work(void *data)
{
	struct worker *worker = data;
	struct random_numbers random = random_from(worker->number);
	struct blocks blocks = { .n = 0 };

	for (int i = 0; i < OPERATIONS; i++) {
		int64_t bytes = take_some(&blocks, &random, 500);

		worker->live += bytes;
		if (worker->live > worker->most_live)
			worker->most_live = worker->live;
		book_add_shared(threads[worker->number], bytes, book_peak_epoch());
	}
	return NULL;
}

static void threads_at_once_neither_lose_bytes_nor_find_some(void **state)
{
	struct worker workers[5];
	pthread_t ids[5];
	int64_t live = 0, most = 0;

	(void)state;
	book.header->threads = 4;
	for (uint32_t i = 1; i <= 4; i++) {
		workers[i] = (struct worker){ .number = i };
		assert_int_equal(pthread_create(&ids[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 1; i <= 4; i++) {
		assert_int_equal(pthread_join(ids[i], NULL), 0);
		live += workers[i].live;
		most += workers[i].most_live;
	}
	assert_int_equal(book_live_bytes(), live);
	/* Each had its most at some time. */
	assert_in_range(book.header->peak_bytes, most / 4, most);
}

static void a_cut_keeps_the_peak_before_it(void **state)
{
	(void)state;
	book.header->threads = 2;
	book_add_shared(threads[1], 1000, book_peak_epoch());
	book.header->cut_epoch = ABI_CUT_STEP;
	book_enter_cut();
	book_add_shared(threads[1], 500, book_peak_epoch());
	book_enter_cut();
	assert_int_equal(book.header->cut_peak_bytes, 1000);
	assert_int_equal(book.header->cut_peak_epoch, 1);
	assert_int_equal(book.header->cut_epoch_seen, ABI_CUT_STEP);
	assert_int_equal(book.header->peak_bytes, 1500);
	/* A thread that knows of an older cut changes nothing. */
	book_keep_cut(0);
	assert_int_equal(book.header->cut_epoch_seen, ABI_CUT_STEP);
}

static uint32_t lock;

static void *hold_for_long(void *data)
{
	(void)data;
	assert_true(book_lock(&lock));
	(void)usleep(500000); /* or less: then it proves less */
	book_unlock(&lock);
	return NULL;
}

static void *end_with_lock(void *data)
{
	(void)data;
	assert_true(book_lock(&lock));
	return NULL;
}

static void a_lock_is_waited_for_and_given_up_once(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, hold_for_long, NULL), 0);
	while (!__atomic_load_n(&lock, __ATOMIC_RELAXED))
		(void)usleep(100); /* as above */
	assert_true(book_lock(&lock));
	book_unlock(&lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, end_with_lock, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (int i = 0; i < 1000; i++)
		assert_false(book_lock(&lock));
	book_unlock(&lock);
	assert_true(book_lock(&lock));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_peak_is_the_largest_sum_of_all_threads, begin,
						done),
		cmocka_unit_test_setup_teardown(threads_at_once_neither_lose_bytes_nor_find_some,
						begin, done),
		cmocka_unit_test_setup_teardown(a_cut_keeps_the_peak_before_it, begin, done),
		cmocka_unit_test(a_lock_is_waited_for_and_given_up_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
