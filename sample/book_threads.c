// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_threads.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* While others are held: a fork of a large process takes a tenth of a second and more. */
#define YIELDS 1000
#define PAUSE_NS 50000
#define PAUSES 100000

uint32_t book_gate;

/* Threads that are looked at for one that has ended, before another record is begun. */
#define ENDED_TRIES 8

static struct book_thread *threads[ABI_BOOK_THREADS]; /* by number, from 1 on */
static uint32_t n_threads, next_ended;
static uint32_t lock;

void book_threads_begin(void)
{
	for (uint32_t i = 1; i <= n_threads; i++) {
		book_index_free(&threads[i]->sites);
		book_index_free(&threads[i]->pairs);
		book_pages_free(threads[i], sizeof(*threads[i]));
		threads[i] = NULL;
	}
	n_threads = 0;
	next_ended = 0;
	lock = 0;
	book_gate = 0;
	if (!book_is_filtered())
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
			      0); /* else others cannot be held */
}

/*
 * Whichever process has it, as a child by clone(CLONE_VM) has threads in this memory, too. Not
 * where system calls are filtered.
 */
static bool has_ended(uint32_t tid)
{
	return syscall(SYS_tkill, tid, 0) && errno == ESRCH;
}

/* The number of a thread that has ended; 0: none of those that were looked at has. */
static uint32_t find_ended(uint32_t mine)
{
	bool may_ask = !book_is_filtered();

	for (uint32_t i = 0; i < ENDED_TRIES && i < n_threads; i++) {
		uint32_t number = 1 + next_ended++ % n_threads;
		uint32_t tid = book.threads[number].tid;

		if (threads[number] && (tid == mine || (may_ask && has_ended(tid))))
			return number;
	}
	return 0;
}

static struct book_thread *take_number(uint32_t tid)
{
	uint32_t number = find_ended(tid);
	struct book_thread *thread;

	if (number) {
		thread = threads[number];
		memset(&thread->walker, 0, offsetof(struct walker, path));
		thread->last_block = 0;
		book.threads[number].at &= ~1U;
		__atomic_fetch_add(&book.header->failed, book.threads[number].failing,
				   __ATOMIC_RELAXED);
		book.threads[number].failing = 0;
	} else {
		thread = n_threads + 1 < ABI_BOOK_THREADS ? book_pages(sizeof(*thread)) : NULL;
		if (!thread)
			return NULL;
		number = ++n_threads;
		thread->number = number;
		thread->n_near = BOOK_FIRST_NEAR;
		thread->shared = &book.threads[number];
		threads[number] = thread;
	}
	book.threads[number].tid = tid;
	__atomic_store_n(&book.header->threads, n_threads, __ATOMIC_RELEASE);
	return thread;
}

/*
 * In place of the kernel's number where that cannot be asked for: the page of a variable of its
 * own, which no other living thread has.
 */
static uint32_t own_number(void)
{
	return (uint32_t)((uintptr_t)&errno >> 12) | 1U << 31;
}

BOOK_SELDOM struct book_thread *book_thread_new(void)
{
	struct book_thread *thread = NULL;
	int error = errno;

	if (book_lock(&lock)) {
		thread =
			take_number(book_is_filtered() ? own_number() : (uint32_t)book_thread_id());
		book_unlock(&lock);
	}
	if (!thread)
		book_lose(ABI_BOOK_LOST_THREADS);
	errno = error;
	return thread;
}

static bool is_held(void)
{
	return __atomic_load_n(&book_gate, __ATOMIC_ACQUIRE) & BOOK_HELD;
}

/* Between two looks. False: it has been long enough. */
static bool pause_held(uint32_t i)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };

	if (book_is_filtered())
		return book_wait(i);
	(void)(i < YIELDS ? sched_yield() : nanosleep(&pause, NULL)); /* longer or not */
	return i < PAUSES;
}

bool book_thread_wait(struct book_thread *thread)
{
	int error = errno;
	bool goes_on = true, held;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* Once it was not held, it is this thread that others wait for: they may hold it again. */
	for (uint32_t i = 0; (held = is_held()) && goes_on && !book.header->passed_on; i++) {
		book_thread_leave(thread);
		goes_on = pause_held(i);
		__atomic_store_n(&thread->shared->at, thread->shared->at + 1, __ATOMIC_SEQ_CST);
	}
	errno = error;
	if (!held)
		return true;
	book_thread_leave(thread);
	if (!book.header->passed_on)
		book_lose(ABI_BOOK_LOST_BLOCKS);
	return false;
}

bool book_thread_refuse(enum abi_book_loss loss)
{
	book_lose(loss);
	return false;
}

static bool has_left(const struct book_thread *thread)
{
	for (uint32_t i = 0; book_wait(i); i++)
		if (!(__atomic_load_n(&thread->shared->at, __ATOMIC_ACQUIRE) & 1))
			return true;
	return !book_is_filtered() && has_ended(thread->shared->tid);
}

/* All threads have passed a fence. */
static bool fence_all(void)
{
	return !book_is_filtered() &&
	       syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static bool keep_out(const struct book_thread *mine)
{
	uint32_t was = __atomic_fetch_or(&book_gate, BOOK_HELD, __ATOMIC_SEQ_CST);

	/* From here on each thread that is at the book is seen there, or has seen this. */
	if (!(was & BOOK_FENCED) && !fence_all())
		return false;
	for (uint32_t i = 1; i <= n_threads; i++)
		if (threads[i] != mine && !has_left(threads[i]))
			return false;
	return true;
}

/* New threads, which are in no list yet, wait for the lock. */
BOOK_SELDOM bool book_threads_hold(struct book_thread *mine)
{
	int error = errno;
	bool locked, held;

	book_thread_leave(mine);
	locked = book_lock(&lock);
	__atomic_store_n(&mine->shared->at, mine->shared->at + 1, __ATOMIC_SEQ_CST);
	held = locked && (book_is_alone() || keep_out(mine));
	if (locked && !held)
		book_threads_release();
	errno = error;
	return held;
}

void book_threads_keep_out(void)
{
	(void)__atomic_fetch_or(&book_gate, BOOK_HELD, __ATOMIC_SEQ_CST); /* for good */
	book_unlock(&lock);
}

void book_threads_release(void)
{
	(void)__atomic_fetch_and(&book_gate, ~(uint32_t)BOOK_HELD, __ATOMIC_RELEASE); /* held */
	book_unlock(&lock);
}

/* Those that are between their fence and the book have seen it when all have passed one. */
void book_threads_fence(void)
{
	(void)__atomic_fetch_or(&book_gate, BOOK_FENCED, __ATOMIC_SEQ_CST); /* as it was */
	if (!book_is_alone() && !fence_all())
		book_threads_fence_no_more();
}

void book_threads_fence_no_more(void)
{
	(void)__atomic_fetch_and(&book_gate, ~(uint32_t)BOOK_FENCED,
				 __ATOMIC_RELEASE); /* as it was */
}
