// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leaks in threads, and of what threads have: those of POSIX and of C++, some that run at the end.
 */
#include <cstdlib>
#include <future>
#include <pthread.h>
#include <thread>
#include <unistd.h>

static void *volatile held;

static __attribute__((noinline)) void lose(void *block)
{
	held = block;
	held = nullptr;
	__asm__ volatile("" : : : "memory");
}

static thread_local char *own;

static void *leaks(void *n)
{
	lose(malloc(10 + (size_t)n));
	lose(new char[20 + (size_t)n]);
	own = new char[30];
	return nullptr;
}

static void *waits(void *ready)
{
	own = static_cast<char *>(malloc(40));
	pthread_barrier_wait(static_cast<pthread_barrier_t *>(ready));
	pause();
	return nullptr;
}

int main()
{
	static pthread_barrier_t ready;
	pthread_t thread;

	pthread_barrier_init(&ready, nullptr, 2);
	pthread_create(&thread, nullptr, leaks, (void *)1);
	pthread_join(thread, nullptr);
	std::thread([] { leaks((void *)2); }).join();
	std::async(
		std::launch::async, [](int n) { lose(new int[n]); }, 50)
		.get();
	pthread_create(&thread, nullptr, waits, &ready);
	pthread_barrier_wait(&ready);
	return 0;
}
