/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaths FILE [BYTES]: says "ready PID", waits for a line, then leaks blocks of BYTES that it
 * writes to, until it is killed or has made 4,096; where there is no memory it aborts, as a C++
 * program does. Without BYTES it waits to be killed. FILE is mapped, and so right to the last: two
 * 64-bit numbers, of the blocks that it has got and of the line of code that asks for them.
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <sys/mman.h>

#define MOST 4096

static char *volatile kept;

static __attribute__((noinline)) void leaks(size_t size, volatile uint64_t *made)
{
	kept = malloc(size), made[1] = __LINE__;
	if (!kept)
		abort();
	made[0]++;
	memset(kept, 1, size);
}

int main(int argc, char **argv)
{
	size_t size = argument(argc, argv, 2, 0);
	volatile uint64_t *made;
	int fd;

	CHECK(argc > 1);
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && ftruncate(fd, 2 * sizeof(*made)) == 0);
	made = mmap(NULL, 2 * sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(made != MAP_FAILED);
	tell("ready %d\n", (int)getpid());
	wait_for_line();
	for (int i = 0; size > 0 && i < MOST; i++)
		leaks(size, made);
	while (size == 0)
		pause();
	return 0;
}
