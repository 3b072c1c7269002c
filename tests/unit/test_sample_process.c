/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampling library's threads, with a set of sampled blocks that has room when told so. */
#include "sample/sampled_set.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool has_room;
static uint64_t told;

static bool add_if_room(struct sampled_set *set, const void *block)
{
	(void)set;
	(void)block;
	return has_room;
}

#define sampled_set_add add_if_room
#include "sample/process.c"

unsigned short otel_memory_alloc_semaphore = 1, otel_memory_free_semaphore;

void memtraced_sampled_alloc(const void *block, uint64_t size, uint64_t weight)
{
	(void)block;
	(void)size;
	told += weight;
}

void memtraced_sampled_free(const void *block)
{
	(void)block;
}

bool sample_refused(void)
{
	return false;
}

void sample_say_refusal(void)
{
}

/* As large as an interval many times over: each is a sample, by its size. */
#define SIZE (UINT64_C(1) << 40)

static void *allocate(void *block)
{
	sample_allocated(block, SIZE);
	return NULL;
}

static void in_thread(void *block)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, allocate, block), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void weight_without_room_outlives_its_thread(void **state)
{
	char block;

	(void)state;
	has_room = false;
	in_thread(&block);
	assert_int_equal(told, 0);
	has_room = true;
	in_thread(&block);
	assert_int_equal(told, 2 * SIZE);
	in_thread(&block);
	assert_int_equal(told, 3 * SIZE);
}

static void a_child_owes_nothing_of_its_parent_s(void **state)
{
	char block;

	(void)state;
	told = 0;
	has_room = false;
	allocate(&block);
	before_fork();
	in_child();
	has_room = true;
	in_thread(&block);
	assert_int_equal(told, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weight_without_room_outlives_its_thread),
		cmocka_unit_test(a_child_owes_nothing_of_its_parent_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
