/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointers in mappings of a file, private and shared; and where nobody may write. */
#include "leaks.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void **map(int flags, int fd)
{
	return mmap(NULL, 8192, PROT_READ | PROT_WRITE, flags, fd, 0);
}

LOSE lose(void)
{
	char path[] = "/tmp/leaks-XXXXXX";
	int fd = mkstemp(path);
	void **private, **shared, **closed;

	unlink(path);
	if (ftruncate(fd, 8192))
		return;
	private = map(MAP_PRIVATE, fd);
	shared = map(MAP_SHARED, fd);
	closed = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	private[10] = malloc(2001);
	shared[600] = malloc(2002);
	closed[7] = malloc(2003);
	mprotect(closed, 8192, PROT_READ);
}

int main(void)
{
	lose();
	scrub();
	return 0;
}
