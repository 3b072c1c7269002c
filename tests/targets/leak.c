/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leak [STEPS [MICROSECONDS]]: leaks one block a step and makes and frees another, waiting in
 * between, for STEPS steps (0: until it is killed); then prints "result X", a number that only the
 * right sequence of steps gives. "ready PID" comes first, "step N X" with every 200th.
 */
#include "tests/targets/target.h"

static __attribute__((noinline)) char *leak_one(size_t size)
{
	return malloc(size);
}

static __attribute__((noinline)) uint64_t work_one(uint64_t *seed)
{
	size_t size = next_random(seed) % 400 + 8;
	unsigned char *block = calloc(size, 1);
	uint64_t sum;

	CHECK(block && block[size - 1] == 0);
	memset(block, (int)(*seed & 0xff), size);
	sum = block[0] + (uint64_t)block[size - 1] * size;
	free(block);
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t steps = argument(argc, argv, 1, 0), wait_us = argument(argc, argv, 2, 1000);
	uint64_t i, sum = 0, seed = 42;

	tell("ready %d\n", getpid());
	for (i = 0; !steps || i < steps; i++) {
		CHECK(leak_one(64 + i % 64));
		sum = sum * 31 + work_one(&seed);
		if (wait_us)
			usleep((useconds_t)wait_us);
		if (i % 200 == 199)
			tell("step %llu %llx\n", (unsigned long long)i + 1,
			     (unsigned long long)sum);
	}
	tell("result %llx\n", (unsigned long long)sum);
	return 0;
}
