/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks from before the attach: BLOCKS of them in each of SHARES threads, the main one first,
 * every third freed again. malloc and the others are defined here, on top of glibc's, so that the
 * program knows all blocks that it holds, libc's own among them, by their usable sizes. (For a
 * static program, which has glibc's own, what mallinfo2 says stands beside.)
 *
 * Each line on stdin is a phase, which ends with a line that says what there is: `churn` has the
 * other threads allocate and free all the time, `rest` ends that; `free` frees half of what is
 * left, `new` allocates 100 blocks of known sizes, `say` does nothing.
 */
#include "tests/targets/target.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>

#define MAX_SHARES 64

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *p);

static uint64_t live_bytes, live_blocks;

static void *enter(void *p)
{
	if (!p)
		return NULL;
	__atomic_add_fetch(&live_bytes, malloc_usable_size(p), __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&live_blocks, 1, __ATOMIC_SEQ_CST);
	return p;
}

static void leave(void *p)
{
	if (!p)
		return;
	__atomic_sub_fetch(&live_bytes, malloc_usable_size(p), __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&live_blocks, 1, __ATOMIC_SEQ_CST);
}

#ifdef STATIC
static void *counted_malloc(size_t size)
{
	return enter(malloc(size));
}

static void *counted_calloc(size_t n, size_t size)
{
	return enter(calloc(n, size));
}

static void counted_free(void *p)
{
	leave(p);
	free(p);
}
#define malloc counted_malloc
#define calloc counted_calloc
#define free counted_free
#define INTERPOSED false
#else
void *malloc(size_t size)
{
	return enter(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return enter(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	leave(p);
	return enter(__libc_realloc(p, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	return enter(__libc_memalign(align, size));
}

void free(void *p)
{
	leave(p);
	__libc_free(p);
}
#define INTERPOSED true
#endif

struct share {
	void **blocks;
	size_t n;
};

static struct share shares[MAX_SHARES];
static pthread_barrier_t filled, begun, rested;
static bool churning;

static size_t size_of(size_t i)
{
	return i % 400 == 9 ? 200000 + i : i % 90 == 4 ? 3000 + i % 7000 : 8 + i * 53 % 900;
}

static void fill(struct share *share)
{
	share->blocks = calloc(share->n, sizeof(void *));
	for (size_t i = 0; i < share->n; i++) {
		/* Of an aligned block mallinfo2 has what lies before it, too. */
		share->blocks[i] = i % 300 == 11 && INTERPOSED ? aligned_alloc(4096, 300000) :
								 malloc(size_of(i));
		CHECK(share->blocks[i]);
	}
	for (size_t i = 0; i < share->n; i += 3) {
		free(share->blocks[i]);
		share->blocks[i] = NULL;
	}
	pthread_barrier_wait(&filled);
}

static void *run(void *arg)
{
	uint64_t seed = 1;
	void *held[50] = { NULL };

	fill(arg);
	for (;;) {
		pthread_barrier_wait(&begun);
		while (__atomic_load_n(&churning, __ATOMIC_RELAXED)) {
			uint64_t number = next_random(&seed);

			free(held[number % 50]);
			held[number % 50] = malloc(number / 64 % 3000);
		}
		for (size_t i = 0; i < 50; i++) {
			free(held[i]);
			held[i] = NULL;
		}
		pthread_barrier_wait(&rested);
	}
	return NULL;
}

static void say(void)
{
	const struct mallinfo2 info = mallinfo2();

	tell("{\"bytes\":%lu,\"blocks\":%lu,\"uordblks\":%zu,\"hblks\":%zu,"
	     "\"hblkhd\":%zu}\n",
	     (unsigned long)live_bytes, (unsigned long)live_blocks, info.uordblks, info.hblks,
	     info.hblkhd);
}

static void free_half(struct share *list, size_t n_shares)
{
	for (size_t t = 0; t < n_shares; t++) {
		size_t left = 0;

		for (size_t i = 0; i < list[t].n; i++) {
			if (!list[t].blocks[i] || left++ % 2)
				continue;
			free(list[t].blocks[i]);
			list[t].blocks[i] = NULL;
		}
	}
}

static bool read_line(char *line, size_t size)
{
	size_t len = 0;

	while (len + 1 < size && read(0, line + len, 1) == 1 && line[len] != '\n')
		len++;
	line[len] = 0;
	return len > 0;
}

static void phase(const char *name, size_t n_shares)
{
	if (strcmp(name, "free") == 0)
		free_half(shares, n_shares);
	for (size_t i = 0; strcmp(name, "new") == 0 && i < 100; i++)
		CHECK(malloc(1000 + i));
	if (strcmp(name, "churn") == 0) {
		churning = true;
		pthread_barrier_wait(&begun);
	}
	if (strcmp(name, "rest") == 0) {
		__atomic_store_n(&churning, false, __ATOMIC_RELAXED);
		pthread_barrier_wait(&rested);
	}
	say();
}

int main(int argc, char **argv)
{
	size_t n = argument(argc, argv, 1, 1000), n_shares = argument(argc, argv, 2, 1);
	char line[32];
	pthread_t thread;

	CHECK(n_shares >= 1 && n_shares <= MAX_SHARES);
	pthread_barrier_init(&filled, NULL, (unsigned int)n_shares);
	pthread_barrier_init(&begun, NULL, (unsigned int)n_shares);
	pthread_barrier_init(&rested, NULL, (unsigned int)n_shares);
	for (size_t i = 0; i < n_shares; i++)
		shares[i].n = n;
	for (size_t i = 1; i < n_shares; i++)
		CHECK(pthread_create(&thread, NULL, run, &shares[i]) == 0);
	fill(&shares[0]);
	say();
	while (read_line(line, sizeof(line)))
		phase(line, n_shares);
	return 0;
}
