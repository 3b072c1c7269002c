/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps N: regions that are unmapped in part (front, back, middle), grown, shrunk and moved with
 * mremap, mapped over with MAP_FIXED, and blocks large enough for malloc to map them itself. Prints
 * what map_region's regions hold at the end: "mmap_live BYTES", and "mapped BYTES" in all.
 */
#include "tests/targets/target.h"

#include <sys/mman.h>

#define PAGE 4096UL

static uint64_t live, mapped;

static __attribute__((noinline)) char *map_region(char *at, size_t size, int flags)
{
	char *p =
		mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(p != MAP_FAILED);
	mapped += size;
	live += size;
	return p;
}

static void unmap(char *p, size_t size)
{
	CHECK(!munmap(p, size));
	live -= size;
}

static __attribute__((noinline)) char *remap(char *p, size_t old, size_t size, int flags)
{
	char *moved = mremap(p, old, size, flags);

	CHECK(moved != MAP_FAILED);
	live += size - old;
	mapped += size;
	return moved;
}

static void cut_up(void)
{
	char *p = map_region(NULL, 10 * PAGE, 0);

	unmap(p, PAGE);
	unmap(p + 9 * PAGE, PAGE);
	unmap(p + 4 * PAGE, 2 * PAGE); /* leaves 3 + 3 pages */
}

static void move_about(void)
{
	char *p = map_region(NULL, 4 * PAGE, 0);
	char *wall;

	p[0] = 'm';
	p = remap(p, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	p = remap(p, 64 * PAGE, 8 * PAGE, 0);
	CHECK(p[0] == 'm');
	/* Cannot grow in place with a neighbour behind it: everything stays as it was. */
	wall = map_region(p + 8 * PAGE, PAGE, MAP_FIXED);
	CHECK(mremap(p, 8 * PAGE, 16 * PAGE, 0) == MAP_FAILED);
	unmap(wall, PAGE);
}

static void map_over(void)
{
	char *p = map_region(NULL, 6 * PAGE, 0);

	live -= 2 * PAGE;
	map_region(p + 2 * PAGE, 2 * PAGE, MAP_FIXED);
	CHECK(munmap(p + 1, PAGE) == -1); /* not aligned: nothing happens */
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 20), i;
	void *large;

	for (i = 0; i < n; i++) {
		cut_up();
		move_about();
		map_over();
		large = malloc(300000);
		CHECK(large);
		large = realloc(large, 900000);
		CHECK(large);
		if (i % 2)
			free(large);
	}
	tell("mmap_live %llu\nmapped %llu\n", (unsigned long long)live, (unsigned long long)mapped);
	return 0;
}
