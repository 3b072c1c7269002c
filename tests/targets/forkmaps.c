/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forkmaps: a process maps regions, before and after the line that it waits for on stdin (or its
 * end), and forks; the child unmaps what its parent has mapped, in part and whole, and maps one of
 * its own; then the parent unmaps what the child still has. Prints "ready" before the line,
 * "child PID BYTES" and "parent PID BYTES", what each holds of what was mapped after the line, and
 * "old PID BYTES" of each, what it holds of the region before; ends at a second line.
 */
#include "tests/targets/target.h"

#include <sys/mman.h>
#include <sys/wait.h>

#define MIB (1UL << 20)

static uint64_t live, old_live;

static __attribute__((noinline)) char *map_region(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	live += size;
	return p;
}

static __attribute__((noinline)) char *map_old(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	old_live += size;
	return p;
}

static void unmap(char *p, size_t size, uint64_t *sum)
{
	CHECK(!munmap(p, size));
	*sum -= size;
}

static void tell_live(const char *who)
{
	printf("%s %d %llu\nold %d %llu\n", who, getpid(), (unsigned long long)live, getpid(),
	       (unsigned long long)old_live);
	fflush(stdout);
}

int main(void)
{
	char *old = map_old(4 * MIB), *first, *second, c;
	int done[2], end[2];
	pid_t child;

	puts("ready");
	fflush(stdout);
	wait_for_line();
	first = map_region(MIB);
	second = map_region(2 * MIB);
	CHECK(!pipe(done) && !pipe(end));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		close(done[0]);
		close(end[1]);
		unmap(first, MIB, &live);
		unmap(second, MIB / 2, &live);
		unmap(old, MIB, &old_live);
		map_region(8 * MIB);
		tell_live("child");
		close(done[1]);
		CHECK(read(end[0], &c, 1) == 0);
		return 0;
	}
	close(done[1]);
	close(end[0]);
	CHECK(read(done[0], &c, 1) == 0);
	unmap(second, 2 * MIB, &live);
	tell_live("parent");
	wait_for_line();
	close(end[1]);
	CHECK(waitpid(child, NULL, 0) == child);
	return 0;
}
