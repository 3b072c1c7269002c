/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/sampled_set.h"
#include "tests/unit/random_numbers.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 4

static void *address(uint64_t n)
{
	return (void *)(uintptr_t)(0x555500000000 + n * 48);
}

static int new_set(void **state)
{
	*state = calloc(1, sizeof(struct sampled_set));
	return *state ? 0 : -1;
}

/* Its segments stay mapped, as a process keeps them. */
static int free_set(void **state)
{
	free(*state);
	return 0;
}

static bool take(struct sampled_set *set, const void *block)
{
	struct sampled_entry entry;

	if (!sampled_set_find(set, block, &entry) || !sampled_set_end(&entry))
		return false;
	sampled_set_remove(set, block, &entry);
	return true;
}

static void what_was_added_is_taken_once(void **state)
{
	struct sampled_set *set = *state;

	assert_false(sampled_set_may_have(set, address(1)));
	assert_false(take(set, address(1)));
	assert_true(sampled_set_add(set, address(1)));
	assert_true(sampled_set_may_have(set, address(1)));
	assert_false(take(set, address(2)));
	assert_true(take(set, address(1)));
	assert_false(sampled_set_may_have(set, address(1)));
	assert_false(take(set, address(1)));
}

/* As a realloc finds it that another thread's free, or a sample of the address, comes before. */
static void an_end_is_told_by_one_caller_alone(void **state)
{
	struct sampled_set *set = *state;
	struct sampled_entry first, second;

	assert_true(sampled_set_add(set, address(1)));
	assert_true(sampled_set_find(set, address(1), &first));
	assert_true(sampled_set_find(set, address(1), &second));
	assert_true(sampled_set_end(&second));
	assert_false(sampled_set_end(&first));
	/* Until it is removed: others see that its end is being told. */
	assert_true(sampled_set_find(set, address(1), &first));
	assert_false(sampled_set_end(&first));
	sampled_set_remove(set, address(1), &second);
	assert_false(sampled_set_find(set, address(1), &first));
}

static void a_block_that_came_to_the_address_later_is_another_one(void **state)
{
	struct sampled_set *set = *state;
	struct sampled_entry old;

	assert_true(sampled_set_add(set, address(1)));
	assert_true(sampled_set_find(set, address(1), &old));
	for (int i = 0; i < 1000; i++) {
		assert_true(take(set, address(1)));
		assert_true(sampled_set_add(set, address(1)));
		assert_false(sampled_set_end(&old));
	}
	assert_true(take(set, address(1)));
}

/* Far more than the first segments hold, and than the filter has bytes for without doubt. */
static void it_grows_and_loses_nothing(void **state)
{
	enum { N = 400000 };
	struct sampled_set *set = *state;

	for (uint64_t i = 0; i < N; i++)
		assert_true(sampled_set_add(set, address(i)));
	for (uint64_t i = 0; i < N; i++) {
		assert_true(sampled_set_may_have(set, address(i)));
		assert_true(take(set, address(i)));
	}
	for (uint64_t i = 0; i < N; i++)
		assert_false(sampled_set_may_have(set, address(i)));
}

/* 300 addresses of one byte of the filter: it does not know any more, and says that it may have. */
static void a_byte_of_the_filter_that_is_full_stays_full(void **state)
{
	enum { N = 300 };
	struct sampled_set *set = *state;
	const void *blocks[N];
	size_t n = 0;

	for (uint64_t i = 0; n < N; i++)
		if (sampled_filter_index(address(i)) == sampled_filter_index(address(0)))
			blocks[n++] = address(i);
	for (size_t i = 0; i < N; i++)
		assert_true(sampled_set_add(set, blocks[i]));
	for (size_t i = 0; i < N; i++)
		assert_true(take(set, blocks[i]));
	assert_true(sampled_set_may_have(set, blocks[0]));
	assert_false(take(set, blocks[0]));
}

static void a_mark_stays(void **state)
{
	struct sampled_set *set = *state;

	sampled_set_mark(set, address(9));
	assert_true(sampled_set_may_have(set, address(9)));
	assert_false(take(set, address(9)));
	assert_true(sampled_set_may_have(set, address(9)));
}

/* Slots that are free hold the same word. */
static void null_is_never_in_it(void **state)
{
	struct sampled_set *set = *state;

	sampled_set_mark(set, NULL); /* as a sampled block does whose page has the same byte */
	assert_true(sampled_set_may_have(set, NULL));
	assert_true(sampled_set_add(set, address(9)));
	assert_false(take(set, NULL));
	assert_true(sampled_set_may_have(set, NULL));
}

struct worker {
	struct sampled_set *set;
	uint64_t number;
	bool good;
};

/* Each thread has blocks of its own, in buckets and bytes that all share. */
static void *add_and_take(void *data)
{
	enum { BLOCKS = 2000, ROUNDS = 20 };
	struct worker *worker = data;

	worker->good = true;
	for (int round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < BLOCKS; i++)
			worker->good &=
				sampled_set_add(worker->set, address(i * THREADS + worker->number));
		for (uint64_t i = 0; i < BLOCKS; i++)
			worker->good &= take(worker->set, address(i * THREADS + worker->number));
	}
	return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
	struct sampled_set *set = *state;
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .set = set, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_take, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_true(workers[i].good);
	}
	for (uint64_t i = 0; i < (uint64_t)2000 * THREADS; i++)
		assert_false(sampled_set_may_have(set, address(i)));
}

/* What the filter costs: of blocks that are not sampled, how many have a look-up. */
static void few_others_are_mistaken_for_sampled_ones(void **state)
{
	enum { SAMPLED = 20000, TRIES = 200000 };
	struct sampled_set *set = *state;
	struct random_numbers random = random_from(1);
	uint64_t mistaken = 0;

	for (int i = 0; i < SAMPLED; i++)
		assert_true(sampled_set_add(set, address(random_below(&random, 1U << 28))));
	for (int i = 0; i < TRIES; i++)
		mistaken += sampled_set_may_have(set, address(random_below(&random, 1U << 28)));
	print_message("# %.2f %% with %d sampled blocks\n", 100.0 * (double)mistaken / TRIES,
		      SAMPLED);
	assert_in_range(mistaken, 1, TRIES * 3 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_added_is_taken_once, new_set, free_set),
		cmocka_unit_test_setup_teardown(an_end_is_told_by_one_caller_alone, new_set,
						free_set),
		cmocka_unit_test_setup_teardown(
			a_block_that_came_to_the_address_later_is_another_one, new_set, free_set),
		cmocka_unit_test_setup_teardown(it_grows_and_loses_nothing, new_set, free_set),
		cmocka_unit_test_setup_teardown(a_byte_of_the_filter_that_is_full_stays_full,
						new_set, free_set),
		cmocka_unit_test_setup_teardown(a_mark_stays, new_set, free_set),
		cmocka_unit_test_setup_teardown(null_is_never_in_it, new_set, free_set),
		cmocka_unit_test_setup_teardown(threads_do_not_disturb_each_other, new_set,
						free_set),
		cmocka_unit_test_setup_teardown(few_others_are_mistaken_for_sampled_ones, new_set,
						free_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
