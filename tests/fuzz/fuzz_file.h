/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input as a file: one in memory for all inputs, since making it takes longer than most. */
#ifndef MEMTRACED_TESTS_FUZZ_FUZZ_FILE_H
#define MEMTRACED_TESTS_FUZZ_FUZZ_FILE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A descriptor of the file, which holds the input until the next call; not to be closed. */
static inline int fuzz_file(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

#endif
