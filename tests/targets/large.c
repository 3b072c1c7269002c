/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * large [wait] spin MS | touch PAGES: a file with so much code that memtraced has the unwind rows
 * of return addresses only, unless it is told more, interrupted where there is no call: by a clock,
 * or by faults of new memory. With `wait` it says "ready" and waits for a line before, and once
 * more behind.
 */
#include "tests/targets/target.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

__asm__(".pushsection .text\n"
	".space 5 << 20\n"
	".popsection\n");

static uint64_t cpu_ms(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Not one whose value is known after the first time. */
static APART void spins(volatile uint64_t *sum)
{
	for (uint64_t i = 0; i < 200000; i++)
		*sum = *sum * 31 + i;
}

static APART void spin(size_t ms)
{
	uint64_t end = cpu_ms() + ms;
	volatile uint64_t sum = 1;

	while (cpu_ms() < end)
		spins(&sum);
}

static APART void touches(volatile char *at, size_t pages, size_t page)
{
	for (size_t i = 0; i < pages; i++)
		at[i * page] = 1;
}

static APART void touch(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	CHECK(at != MAP_FAILED && madvise(at, pages * page, MADV_NOHUGEPAGE) == 0);
	touches(at, pages, page);
}

static void announced_wait(void)
{
	tell("ready\n");
	wait_for_line();
}

int main(int argc, char **argv)
{
	bool waits = argc > 1 && strcmp(argv[1], "wait") == 0;
	const char *mode = argv[1 + waits];
	size_t n = argument(argc, argv, 2 + waits, 0);

	CHECK(argc == 3 + waits && (strcmp(mode, "spin") == 0 || strcmp(mode, "touch") == 0));
	if (waits)
		announced_wait();
	if (*mode == 's')
		spin(n);
	else
		touch(n);
	if (waits)
		announced_wait();
	return 0;
}
