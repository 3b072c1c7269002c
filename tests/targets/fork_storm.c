/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork_storm CHILDREN OPS [AT_ONCE]: holds blocks in 2,000 places, forks that many children (at
 * most AT_ONCE at a time, 32) and goes on allocating, freeing and moving blocks between the forks,
 * OPS in all; each child does as much as the parent does between two forks, with what it has
 * inherited, and ends holding the rest. Some reallocs fail. No thread runs beside a fork.
 */
#include "tests/targets/target.h"

#include <sys/wait.h>

#define PLACES 2000
#define SIZE_MOST 500

static void *volatile block[PLACES];

static void change(size_t place, uint64_t random)
{
	size_t size = 1 + random % SIZE_MOST;
	void *moved;

	if (!block[place]) {
		block[place] = malloc(size);
		CHECK(block[place]);
	} else if (random >> 32 & 7) {
		free(block[place]);
		block[place] = NULL;
	} else {
		/* One in four fails, and the block stays. */
		moved = realloc(block[place], random >> 40 & 3 ? size : IMPOSSIBLE);
		if (moved)
			block[place] = moved;
	}
}

static void storm(uint64_t ops, uint64_t *state)
{
	uint64_t i;

	for (i = 0; i < ops; i++) {
		uint64_t random = next_random(state);

		change(random % PLACES, random >> 11);
	}
}

static void wait_for_one(void)
{
	int status;

	CHECK(wait(&status) > 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
	uint64_t children = argument(argc, argv, 1, 40), ops = argument(argc, argv, 2, 400000);
	uint64_t at_once = argument(argc, argv, 3, 32), each = ops / (2 * children), i;
	uint64_t state = 1;

	storm(2 * PLACES, &state);
	for (i = 0; i < children; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			state += i;
			storm(each, &state);
			_exit(0);
		}
		storm(each, &state);
		if (i >= at_once)
			wait_for_one();
	}
	for (i = 0; i < children && i < at_once; i++)
		wait_for_one();
	return 0;
}
