/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/probes.h"

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/*
 * The header's nop of one byte is emulated behind a trap. Of five bytes, Linux 6.18 to 7.1 would
 * make a call at the first hit, which is faster; but fork does not copy the page that is called, so
 * that a child dies of SIGSEGV at its next sample ("uprobes/x86: Allow to copy uprobe trampolines
 * on fork").
 */
#define PROBE_FUNCTION __attribute__((visibility("default"), noinline))
#define SEMAPHORE __attribute__((visibility("hidden"), section(".probes")))

SEMAPHORE unsigned short otel_memory_alloc_semaphore;
SEMAPHORE unsigned short otel_memory_free_semaphore;
SEMAPHORE unsigned short memtraced_book_semaphore;

PROBE_FUNCTION void memtraced_sampled_alloc(const void *block, uint64_t size, uint64_t weight)
{
	STAP_PROBE3(otel_memory, alloc, block, size, weight);
}

PROBE_FUNCTION void memtraced_sampled_free(const void *block)
{
	STAP_PROBE1(otel_memory, free, block);
}

PROBE_FUNCTION void memtraced_book(int64_t fd, uint64_t value)
{
	STAP_PROBE2(memtraced, book, fd, value);
}
