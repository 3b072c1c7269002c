/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heaps of real processes: children of this one, with this glibc. What they hold they say
 * themselves: each block with its malloc_usable_size(), and mallinfo2().
 */
#include "target/glibc/glibc_heap.h"

#include "base/clock.h"
#include "base/vec.h"
#include "skip_because.h"
#include "target/hold/stop.h"
#include "target/memory.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define N_THREADS 5 /* the first one is the child's main thread */
#define PER_THREAD 4000

struct entry {
	uint64_t addr, size;
	bool freed;
};

/* Shared with the child. */
struct ledger {
	struct entry entries[N_THREADS][PER_THREAD];
	struct mallinfo2 info;
	int allocated, released; /* threads that have done it */
	volatile int ready;
};

struct child {
	pid_t pid;
	struct stop *stop;
	struct memory *memory;
	struct glibc_heap *heap;
};

#ifdef __SANITIZE_ADDRESS__
#define OTHER_MALLOC true
#else
#define OTHER_MALLOC false
#endif

static struct ledger *ledger;

static size_t size_for(size_t i)
{
	if (i % 500 == 7) /* mapped */
		return 300000 + i * 40;
	if (i % 100 == 3)
		return 5000 + i;
	return i % 50 == 1 ? 640 : 1 + i * 37 % 1500;
}

static void allocate(size_t thread)
{
	for (size_t i = 0; i < PER_THREAD; i++) {
		size_t size = size_for(i);
		void *p = i % 1000 == 7	 ? aligned_alloc(65536, 1 << 20) :
			  i % 1000 == 23 ? aligned_alloc(256, 512) :
					   malloc(size);

		if (!p)
			_exit(1);
		ledger->entries[thread][i] =
			(struct entry){ (uintptr_t)p, malloc_usable_size(p), false };
	}
}

/* Runs of neighbours, which become larger chunks, and single ones, which go into lists. */
static void release(size_t thread)
{
	for (size_t i = 0; i < PER_THREAD; i++) {
		struct entry *e = &ledger->entries[thread][i];

		if (i % 7 != 2 && i % 400 > 60)
			continue;
		free((void *)(uintptr_t)e->addr);
		e->freed = true;
	}
}

static void wait_for_all(int *count, size_t n_threads)
{
	(void)__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < (int)n_threads)
		(void)usleep(1000);
}

/* Nothing is freed before all is allocated: else a freed address may be a block again. */
static void work(size_t thread, size_t n_threads)
{
	allocate(thread);
	wait_for_all(&ledger->allocated, n_threads);
	release(thread);
	wait_for_all(&ledger->released, n_threads);
}

static void *run_thread(void *arg)
{
	work((size_t)(uintptr_t)arg, N_THREADS);
	for (;;)
		pause();
	return NULL;
}

static void run_child(size_t n_threads)
{
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 1; i < n_threads; i++)
		if (pthread_create(&thread, NULL, run_thread, (void *)(uintptr_t)i))
			_exit(1);
	work(0, n_threads);
	ledger->info = mallinfo2();
	ledger->ready = 1;
	for (;;)
		pause();
}

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return memory_read_some(ctx, addr, buf, len);
}

/* Reads it as it is now. */
static void read_heap(struct child *c, uint64_t deadline_ns)
{
	struct glibc_source source = { .read = read_memory, .deadline_ns = deadline_ns };
	uint64_t threads[N_THREADS];
	const struct stopped_thread *stopped;
	size_t n;

	assert_int_equal(stop_new(c->pid, SECOND_NS, &c->stop), 0);
	stopped = stop_threads(c->stop, &n);
	assert_in_range(n, 1, N_THREADS);
	for (size_t i = 0; i < n; i++)
		threads[i] = stopped[i].tls;
	assert_int_equal(memory_new(c->pid, &c->memory), 0);
	source.ctx = c->memory;
	source.maps = memory_maps(c->memory, &source.n_maps);
	source.threads = threads;
	source.n_threads = n;
	assert_int_equal(glibc_heap_new(&source, &c->heap), 0);
}

static void start(struct child *c, size_t n_threads)
{
	memset(ledger, 0, sizeof(*ledger));
	memset(c, 0, sizeof(*c));
	c->pid = fork();
	if (c->pid == 0)
		run_child(n_threads);
	assert_true(c->pid > 0);
	while (!ledger->ready) {
		assert_int_equal(waitpid(c->pid, NULL, WNOHANG), 0);
		(void)usleep(1000);
	}
}

static void finish(struct child *c)
{
	glibc_heap_free(c->heap);
	memory_free(c->memory);
	stop_free(c->stop);
	(void)kill(c->pid, SIGKILL);
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static const struct glibc_block *find(const struct glibc_heap *heap, uint64_t addr)
{
	size_t low = 0, high = heap->n_blocks;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (heap->blocks[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < heap->n_blocks && heap->blocks[low].addr == addr ? &heap->blocks[low] : NULL;
}

static void assert_sound(const struct glibc_heap *heap)
{
	assert_int_equal(heap->unread_bytes, 0);
	assert_int_equal(heap->locked_arenas, 0);
	assert_int_equal(heap->broken_lists, 0);
	assert_int_equal(heap->unknown_caches, 0);
	assert_true(glibc_heap_is_sound(heap));
}

static void assert_as_told(const struct child *c, size_t n_threads)
{
	for (size_t t = 0; t < n_threads; t++) {
		for (size_t i = 0; i < PER_THREAD; i++) {
			const struct entry *e = &ledger->entries[t][i];
			const struct glibc_block *block = find(c->heap, e->addr);

			assert_int_equal(block != NULL, !e->freed);
			if (block)
				assert_int_equal(block->size, e->size);
		}
	}
	assert_int_equal(c->heap->free_bytes, ledger->info.fordblks);
	assert_int_equal(c->heap->mapped_bytes, ledger->info.hblkhd);
}

static void finds_every_block_of_a_process_with_one_thread(void **state)
{
	struct child c;
	uint64_t used = 0;

	(void)state;
	if (OTHER_MALLOC)
		skip_because("malloc is not the C library's own");
	start(&c, 1);
	read_heap(&c, 0);
	assert_sound(c.heap);
	assert_int_equal(c.heap->n_arenas, 1);
	assert_as_told(&c, 1);
	/* Heads of chunks in arenas are 8 bytes beyond the usable size, of mapped ones 16. */
	for (size_t i = 0; i < c.heap->n_blocks; i++)
		used += c.heap->blocks[i].size + 8;
	for (size_t i = 0; i < PER_THREAD; i++) {
		const struct entry *e = &ledger->entries[0][i];

		if (!e->freed && e->size > 200000)
			used -= e->size + 8;
	}
	assert_int_equal(used + c.heap->cached_bytes, ledger->info.uordblks);
	finish(&c);
}

static void finds_every_block_of_all_arenas(void **state)
{
	struct child c;

	(void)state;
	if (OTHER_MALLOC)
		skip_because("malloc is not the C library's own");
	start(&c, N_THREADS);
	read_heap(&c, 0);
	assert_sound(c.heap);
	assert_in_range(c.heap->n_arenas, 2, N_THREADS);
	assert_as_told(&c, N_THREADS);
	finish(&c);
}

/* What was not read in time is said, and nothing is made up for it. */
static void a_deadline_ends_the_reading(void **state)
{
	struct child c;

	(void)state;
	if (OTHER_MALLOC)
		skip_because("malloc is not the C library's own");
	start(&c, 1);
	read_heap(&c, 1);
	assert_true(c.heap->is_late);
	assert_false(glibc_heap_is_sound(c.heap));
	assert_int_equal(c.heap->n_blocks, 0);
	finish(&c);
}

static int setup(void **state)
{
	(void)state;
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return ledger == MAP_FAILED ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_block_of_a_process_with_one_thread),
		cmocka_unit_test(finds_every_block_of_all_arenas),
		cmocka_unit_test(a_deadline_ends_the_reading),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
