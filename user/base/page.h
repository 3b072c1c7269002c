/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes in pages of the running kernel: arm64 kernels have pages of 4, 16 or 64 KiB. */
#ifndef MEMTRACED_BASE_PAGE_H
#define MEMTRACED_BASE_PAGE_H

#include <stdint.h>
#include <unistd.h>

static inline uint64_t page_round_down(uint64_t n)
{
	return n & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

/* Rounds up to whole pages; what exceeds 64 bits wraps. */
static inline uint64_t page_round_up(uint64_t n)
{
	return page_round_down(n + (uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

#endif
