/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapper: says "ready", then does what each line says, and after it "held BYTES MAPPED BRK", what
 * it holds in all, by keeps() and by grows():
 *   map N PAGES    maps N regions and writes to the first page of each
 *   fill N PAGES   the same, and writes to all of it
 *   churn N PAGES  maps and unmaps a region, N times
 *   unmap N        the newest N of those that were mapped
 *   brk PAGES      moves the end of the data segment
 *   stacks N       maps a page by each of N stacks
 */
#include "tests/targets/target.h"

#include <sys/mman.h>

#define PAGE 4096UL
#define MOST 100000

static struct {
	char *at;
	size_t size;
} kept[MOST];
static size_t n_kept;
static uint64_t mapped, grown;

static __attribute__((noinline)) void keeps(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED && n_kept < MOST);
	kept[n_kept].at = at;
	kept[n_kept++].size = size;
	mapped += size;
	at[0] = 1;
}

static void unmap_newest(void)
{
	CHECK(n_kept > 0);
	n_kept--;
	CHECK(munmap(kept[n_kept].at, kept[n_kept].size) == 0);
	mapped -= kept[n_kept].size;
}

static __attribute__((noinline)) void churns(size_t size)
{
	keeps(size);
	unmap_newest();
}

static __attribute__((noinline)) void grows(size_t size)
{
	CHECK(sbrk((intptr_t)size) != (void *)-1);
	grown += size;
}

static void one_way(uint64_t bits, int depth);

static __attribute__((noinline)) void other_way(uint64_t bits, int depth)
{
	if (depth > 0)
		one_way(bits, depth);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

/* A stack of its own for each number of 20 bits. */
static __attribute__((noinline)) void one_way(uint64_t bits, int depth)
{
	if (depth == 0)
		keeps(PAGE);
	else if (bits & 1)
		other_way(bits >> 1, depth - 1);
	else
		one_way(bits >> 1, depth - 1);
	__asm__ volatile("" ::: "memory");
}

static void obey(const char *word, uint64_t n, uint64_t pages)
{
	if (strcmp(word, "brk") == 0)
		grows(n * PAGE);
	for (uint64_t i = 0; i < n && strcmp(word, "brk") != 0; i++) {
		if (strcmp(word, "churn") == 0)
			churns(pages * PAGE);
		else if (strcmp(word, "unmap") == 0)
			unmap_newest();
		else if (strcmp(word, "stacks") == 0)
			one_way(i, 20);
		else
			keeps(pages * PAGE);
		if (strcmp(word, "fill") == 0)
			memset(kept[n_kept - 1].at, 1, kept[n_kept - 1].size);
	}
}

int main(void)
{
	char line[80], word[16];
	unsigned long long n, pages;

	tell("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		pages = 0;
		CHECK(sscanf(line, "%15s %llu %llu", word, &n, &pages) >= 2);
		obey(word, n, pages);
		tell("held %llu %llu %llu\n", (unsigned long long)(mapped + grown),
		     (unsigned long long)mapped, (unsigned long long)grown);
	}
	return 0;
}
