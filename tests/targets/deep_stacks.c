/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep_stacks N FRAMES WHERE [maps]: 2^N live blocks of 16 bytes, each by another path of FRAMES
 * calls. WHERE says where the paths differ: "inner" next to the allocation, "outer" next to main().
 * With "maps" each is a mapping in place of a block, which is unmapped at once. Says "ready"
 * before, and "made" afterwards.
 */
#include "tests/targets/target.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

struct path {
	uint64_t turns, n_turns, straight;
	int turns_first, maps;
};

static void *left(struct path *path);
static void *right(struct path *path);
static void *straight(struct path *path);

static inline __attribute__((always_inline)) void *go_on(struct path *path)
{
	if (path->n_turns && (path->turns_first || !path->straight)) {
		int is_right = path->turns & 1;

		path->turns >>= 1;
		path->n_turns--;
		return is_right ? right(path) : left(path);
	}
	if (path->straight) {
		path->straight--;
		return straight(path);
	}
	if (!path->maps)
		return malloc(16);
	return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* The barriers keep calls from becoming jumps, and functions from becoming one. */
static __attribute__((noinline)) void *left(struct path *path)
{
	void *block = go_on(path);

	__asm__ volatile("# left" : : "r"(block));
	return block;
}

static __attribute__((noinline)) void *right(struct path *path)
{
	void *block = go_on(path);

	__asm__ volatile("nop # right" : : "r"(block));
	return block;
}

static __attribute__((noinline)) void *straight(struct path *path)
{
	void *block = go_on(path);

	__asm__ volatile("nop # straight" : : "r"(block));
	return block;
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 4), frames = argument(argc, argv, 2, 110);
	int turns_first = argc > 3 && strcmp(argv[3], "outer") == 0;
	int maps = argc > 4 && strcmp(argv[4], "maps") == 0;

	free(malloc(opaque(16))); /* a library that counts begins here */
	tell("ready\n");
	wait_for_line();
	for (uint64_t turns = 0; turns < 1ULL << n; turns++) {
		struct path path = { turns, n, frames > n ? frames - n : 0, turns_first, maps };
		void *block = go_on(&path);

		CHECK(block && block != MAP_FAILED);
		if (maps)
			CHECK(munmap(block, PAGE) == 0);
	}
	tell("made\n");
	wait_for_line();
	return 0;
}
