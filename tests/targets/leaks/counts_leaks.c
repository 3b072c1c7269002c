/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints whether memtraced or Valgrind looks, and what their checks have found: before the first,
 * after one, and after another.
 */
#include "include/memtraced.h"
#include "leaks.h"

#include <stdio.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_DO_LEAK_CHECK
#define VALGRIND_COUNT_LEAKS(leaked, dubious, reachable, suppressed)
#define VALGRIND_COUNT_LEAK_BLOCKS(leaked, dubious, reachable, suppressed)
#define RUNNING_ON_VALGRIND 0
#endif

static char *kept, *inside;

LOSE lose(void)
{
	void **owner = malloc(40);

	*owner = malloc(50);
	kept = malloc(60);
	inside = (char *)malloc(70) + 8;
}

LOSE hidden(void)
{
	(void)!malloc(80);
}

static void show(void)
{
	/* the other's are 0 */
	size_t bytes[4] = { 0 }, blocks[4] = { 0 };
	struct memtraced_leaks leaks;

	VALGRIND_COUNT_LEAKS(bytes[0], bytes[1], bytes[2], bytes[3]);
	VALGRIND_COUNT_LEAK_BLOCKS(blocks[0], blocks[1], blocks[2], blocks[3]);
	memtraced_count_leaks(&leaks);
	printf("leaked %zu/%zu dubious %zu/%zu reachable %zu/%zu suppressed %zu/%zu\n",
	       bytes[0] + leaks.leaked_bytes, blocks[0] + leaks.leaked_blocks,
	       bytes[1] + leaks.dubious_bytes, blocks[1] + leaks.dubious_blocks,
	       bytes[2] + leaks.reachable_bytes, blocks[2] + leaks.reachable_blocks,
	       bytes[3] + leaks.suppressed_bytes, blocks[3] + leaks.suppressed_blocks);
}

static void check(void)
{
	memtraced_do_quick_leak_check();
	VALGRIND_DO_LEAK_CHECK;
}

int main(void)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	printf("running %d\n", memtraced_is_running() || RUNNING_ON_VALGRIND);
	show();
	lose();
	scrub();
	check();
	show();
	hidden();
	kept = NULL;
	scrub();
	check();
	show();
	return 0;
}
