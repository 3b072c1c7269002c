/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages N: touches N pages of new memory for the first time, then lets the kernel touch 2 N in a
 * read. Nothing of it is an allocator's.
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <sys/mman.h>

/* Small pages, each of which faults by itself. */
static char *fresh(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED && madvise(at, bytes, MADV_NOHUGEPAGE) == 0);
	return at;
}

static __attribute__((noinline)) void touches(volatile char *at, size_t pages, size_t page)
{
	for (size_t i = 0; i < pages; i++)
		at[i * page] = 1;
}

static __attribute__((noinline)) void reads(int fd, char *at, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = read(fd, at, bytes);

		CHECK(n > 0);
		at += n;
		bytes -= (size_t)n;
	}
}

int main(int argc, char **argv)
{
	size_t pages = argument(argc, argv, 1, 1), page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/dev/zero", O_RDONLY);

	CHECK(fd >= 0);
	touches(fresh(pages * page), pages, page);
	reads(fd, fresh(2 * pages * page), 2 * pages * page);
	return 0;
}
