/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_kinds RUNS SEED: runs itself RUNS times for each kind of program, one after the other,
 * with seeds of the sampling library from SEED on. What a kind allocates is the same each time; it
 * ends with its number as status, from 1 on. With KIND alone it is that program.
 */
#include "tests/targets/target.h"

#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#define MOST 4096
#define MOST_THREADS 8
#define HUGE_BYTES (1 << 20)

/* Fills `held` places, then replaces the block in so many. */
struct kind {
	uint32_t held, replaced;
	size_t least, most;
	uint32_t threads; /* each does it; 0: one */
	uint32_t huge;	  /* one block in so many is huge; 0: none */
};

static const struct kind kinds[] = {
	{ .held = 4000, .least = 16, .most = 60 },
	{ .held = 4000, .replaced = 20000, .least = 16, .most = 60 },
	{ .held = 60, .least = 65536, .most = 1 << 20 },
	{ .held = 200, .least = 8192, .most = 32768 },
	{ .held = 1000, .least = 16, .most = 4096 },
	{ .held = 500, .least = 16, .most = 65536 },
	{ .held = 4000, .replaced = 4000, .least = 64, .most = 4096 },
	{ .held = 250, .replaced = 250, .least = 64, .most = 4096, .threads = MOST_THREADS },
	{ .held = 40, .least = 1024, .most = 3072 },
	{ .held = 80, .least = 1024, .most = 3072 },
	{ .held = 1000, .replaced = 10000, .least = 1024, .most = 8192 },
	{ .held = 2000, .least = 16, .most = 2048, .huge = 50 },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct work {
	const struct kind *kind;
	uint64_t random;
	uint32_t made;
	void *blocks[MOST];
};

static struct work works[MOST_THREADS];

static void make(struct work *work, uint32_t place)
{
	const struct kind *kind = work->kind;
	size_t size = kind->least + next_random(&work->random) % (kind->most - kind->least + 1);

	if (kind->huge && work->made % kind->huge == 0)
		size = HUGE_BYTES;
	work->made++;
	free(work->blocks[place]);
	work->blocks[place] = malloc(size);
	CHECK(work->blocks[place]);
}

static void *do_work(void *userdata)
{
	struct work *work = userdata;

	for (uint32_t i = 0; i < work->kind->held; i++)
		make(work, i);
	for (uint32_t i = 0; i < work->kind->replaced; i++)
		make(work, (uint32_t)(next_random(&work->random) % work->kind->held));
	return NULL;
}

static void be_kind(size_t number)
{
	const struct kind *kind = &kinds[number];
	pthread_t threads[MOST_THREADS];

	for (uint32_t i = 0; i < MOST_THREADS; i++)
		works[i] = (struct work){ .kind = kind, .random = 4711 + i };
	for (uint32_t i = 0; i < kind->threads; i++)
		CHECK(pthread_create(&threads[i], NULL, do_work, &works[i]) == 0);
	for (uint32_t i = 0; i < kind->threads; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	if (kind->threads == 0)
		do_work(&works[0]);
	_exit((int)number + 1);
}

static void run_kind(size_t number, uint64_t seed)
{
	char text[32], *argv[] = { (char *)"sample_kinds", text, NULL };
	int status;
	pid_t pid;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
	CHECK(setenv("MEMTRACED_SAMPLE_SEED", text, 1) == 0);
	snprintf(text, sizeof(text), "%zu", number);
	CHECK(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (int)number + 1);
}

int main(int argc, char **argv)
{
	uint64_t runs = argument(argc, argv, 1, 1), seed = argument(argc, argv, 2, 1);

	if (argc == 2) {
		CHECK(runs < KINDS);
		be_kind(runs);
	}
	for (uint64_t i = 0; i < runs; i++)
		for (size_t number = 0; number < KINDS; number++)
			run_kind(number, (seed + i) * KINDS + number);
	return 0;
}
