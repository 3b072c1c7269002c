/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request_storm REQUEST N THREADS BLOCKS: holds so many blocks, and each thread makes the request
 * of memtraced.h N times (0: for ever): `count`, `check`, `pool` (tells of blocks that nobody
 * allocates), `bad` (has the sums written where nothing is), or `exec` (of programs that are not
 * there). Says "ready" before, and waits for a line; at the end how many answers were not 0.
 */
#include "include/memtraced.h"
#include "tests/targets/target.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 64
#define PAGE 4096

static const char *request;
static uint64_t times;
static atomic_ullong answers;

static void ask(uint64_t i)
{
	struct memtraced_leaks leaks;

	if (strcmp(request, "count") == 0) {
		memtraced_count_leaks(&leaks);
		answers += leaks.reachable_blocks != 0;
	} else if (strcmp(request, "check") == 0) {
		memtraced_do_leak_check();
	} else if (strcmp(request, "pool") == 0) {
		memtraced_malloclike_block((void *)(uintptr_t)((i + 1) * PAGE), 16);
	} else if (strcmp(request, "bad") == 0) {
		memtraced_write_leaks((void *)(uintptr_t)(i % 16 * PAGE));
	} else if (strcmp(request, "exec") == 0) {
		CHECK(execl("/nowhere", "nowhere", NULL) < 0);
	}
}

static void *ask_often(void *unused)
{
	(void)unused;
	for (uint64_t i = 0; times == 0 || i < times; i++)
		ask(i);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n_threads = argument(argc, argv, 3, 1), n_blocks = argument(argc, argv, 4, 1);
	void **blocks = calloc(n_blocks + 1, sizeof(*blocks));
	pthread_t threads[THREADS];

	CHECK(argc > 2 && n_threads <= THREADS && blocks);
	request = argv[1];
	times = argument(argc, argv, 2, 1);
	for (uint64_t i = 0; i < n_blocks; i++)
		CHECK(blocks[i] = malloc(32));
	tell("ready\n");
	wait_for_line();
	/* the sums are those of a check */
	memtraced_do_leak_check();
	for (uint64_t i = 0; i < n_threads; i++)
		CHECK(pthread_create(&threads[i], NULL, ask_often, NULL) == 0);
	for (uint64_t i = 0; i < n_threads; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	tell("answers %llu\n", answers);
	CHECK(blocks[0]);
	return 0;
}
