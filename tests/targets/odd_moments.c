/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * odd_moments [MS]: allocates where a library between program and allocator is easily caught half
 * done, for MS milliseconds, while a signal comes every 200 us at any instruction: in its handler
 * (not inside malloc and free, which may not be called then), in destructors of threads' data, and
 * around children of vfork that execute something. Fails unless each block holds what was written.
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#define BLOCKS 64

struct block {
	size_t size;
	unsigned char *bytes;
};

static pthread_key_t key;
static __thread volatile sig_atomic_t inside;
static volatile sig_atomic_t n_handled;

static void *allocate(size_t size)
{
	void *block;

	inside = 1;
	block = malloc(size);
	inside = 0;
	CHECK(block);
	return block;
}

static void release(void *block)
{
	inside = 1;
	free(block);
	inside = 0;
}

static void fill(struct block *block, size_t size)
{
	block->bytes = allocate(size);
	block->size = size;
	memset(block->bytes, (int)size, size);
}

static void drop(struct block *block)
{
	for (size_t i = 0; i < block->size; i++)
		CHECK(block->bytes[i] == (unsigned char)block->size);
	release(block->bytes);
	*block = (struct block){ 0 };
}

static void on_signal(int number)
{
	struct block block = { 0 };

	(void)number;
	if (inside)
		return;
	fill(&block, 700);
	drop(&block);
	n_handled = n_handled + 1;
}

/* What threads leave is freed, and more allocated, when all that they had else has gone. */
static void at_thread_end(void *data)
{
	static __thread int rounds;
	struct block block = { 0 };

	fill(&block, 3000);
	drop(&block);
	release(data);
	if (++rounds < 3)
		CHECK(pthread_setspecific(key, allocate(100)) == 0);
}

static void let_signals_in(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

/* None come where the C library itself may be inside the allocator. */
static void *work(void *data)
{
	struct block blocks[BLOCKS] = { { 0 } };
	uint64_t state = (uintptr_t)data;

	CHECK(pthread_setspecific(key, allocate(77)) == 0);
	let_signals_in(SIG_UNBLOCK);
	for (int i = 0; i < 2000; i++) {
		struct block *block = &blocks[next_random(&state) % BLOCKS];

		if (block->bytes)
			drop(block);
		fill(block, 1 + next_random(&state) % 5000);
	}
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].bytes)
			drop(&blocks[i]);
	let_signals_in(SIG_BLOCK);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[3];

	for (uintptr_t i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void run_child(void)
{
	char *block = allocate(1000);
	int status;
	pid_t pid = vfork();

	CHECK(pid >= 0);
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(97);
	}
	release(block);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	const struct itimerval often = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };
	uint64_t end = now_ms() + argument(argc, argv, 1, 500);

	let_signals_in(SIG_BLOCK);
	CHECK(pthread_key_create(&key, at_thread_end) == 0);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (now_ms() < end) {
		run_threads();
		run_child();
	}
	CHECK(n_handled > 0);
	return 0;
}
