/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that free what was made by new, in an order that is not that of their beginnings. */
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t turns;
static int *blocks[4];

static __attribute__((noinline)) void free_by_first()
{
	free(blocks[0]);
}

static __attribute__((noinline)) void free_by_second()
{
	free(blocks[1]);
}

static __attribute__((noinline)) void free_by_third()
{
	free(blocks[2]);
}

static __attribute__((noinline)) void free_at_last()
{
	free(blocks[3]);
}

static void *second(void *)
{
	pthread_barrier_wait(&turns);
	pthread_barrier_wait(&turns);
	free_by_second();
	return nullptr;
}

static void *third(void *)
{
	pthread_barrier_wait(&turns);
	free_by_third();
	pthread_barrier_wait(&turns);
	return nullptr;
}

int main()
{
	pthread_t threads[2];

	for (auto &block : blocks)
		block = new int;
	pthread_barrier_init(&turns, nullptr, 2);
	free_by_first();
	pthread_create(&threads[0], nullptr, second, nullptr);
	pthread_create(&threads[1], nullptr, third, nullptr);
	for (auto thread : threads)
		pthread_join(thread, nullptr);
	free_at_last();
	return 0;
}
