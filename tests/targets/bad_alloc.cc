/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bad_alloc N: exceptions that operator new throws where it is the allocator's own, as jemalloc's
 * and tcmalloc's is, and what a new handler has allocated before it leaves; kept, freed at once,
 * later, or by another thread. It ends inside a catch. Besides these there is only malloc. It tells
 * how many requests will have failed at its end.
 */
#include "tests/targets/target.h"

#include <csetjmp>
#include <exception>
#include <new>
#include <pthread.h>
#include <semaphore.h>

#define KEPT 3

static jmp_buf way_out;
static void *last_of_handler;
static std::exception_ptr handed_over;
static sem_t is_there, is_gone;
static unsigned n_failed;

static __attribute__((noinline)) void fails()
{
	n_failed++;
	::operator delete(::operator new(opaque(PTRDIFF_MAX - 64)));
	CHECK(false);
}

static void caught()
{
	try {
		fails();
	} catch (const std::bad_alloc &) {
	}
}

/* From the same place again and again, with nothing freed between. */
static void kept()
{
	std::exception_ptr held[KEPT];
	void *block;

	for (unsigned i = 0; i < KEPT; i++) {
		try {
			fails();
		} catch (...) {
			held[i] = std::current_exception();
		}
	}
	block = malloc(opaque(33));
	for (unsigned i = 0; i < KEPT; i++)
		held[i] = nullptr;
	free(block);
}

/* Gives back one of three blocks before it leaves. */
static void allocates()
{
	void *first = malloc(opaque(100)), *second;

	last_of_handler = malloc(opaque(200));
	second = malloc(opaque(300));
	free(first);
	CHECK(second);
}

static void throws()
{
	allocates();
	throw std::bad_alloc();
}

static void jumps()
{
	allocates();
	longjmp(way_out, 1);
}

static void by_handler(std::new_handler handler)
{
	std::new_handler before = std::set_new_handler(handler);

	if (setjmp(way_out) == 0)
		caught();
	std::set_new_handler(before);
	/* One of the handler's two is still there. */
	free(last_of_handler);
}

static void *frees(void *rounds)
{
	for (uint64_t n = (uintptr_t)rounds; n > 0; n--) {
		sem_wait(&is_there);
		handed_over = nullptr;
		sem_post(&is_gone);
	}
	return NULL;
}

static void freed_elsewhere()
{
	try {
		fails();
	} catch (...) {
		handed_over = std::current_exception();
	}
	sem_post(&is_there);
	sem_wait(&is_gone);
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 10);
	pthread_t other;

	sem_init(&is_there, 0, 0);
	sem_init(&is_gone, 0, 0);
	CHECK(!pthread_create(&other, NULL, frees, (void *)(uintptr_t)n));
	for (uint64_t i = 0; i < n; i++) {
		caught();
		kept();
		by_handler(throws);
		by_handler(jumps);
		freed_elsewhere();
	}
	pthread_join(other, NULL);
	tell("%u failed\n", n_failed + 1);
	try {
		fails();
	} catch (const std::bad_alloc &) {
		_exit(0); /* with the exception */
	}
	return 1;
}
