/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/probes.h"

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/*
 * Linux 6.18 to 7.1 make a call of a five-byte nop that is probed, in place of a trap
 * (arch/x86/kernel/uprobes.c, can_optimize), if it lies within one page. That call pushes its
 * return address, so that nothing may be in the red zone: sample.mk says so to the compiler. From
 * 7.2 on only ten-byte nops are: their prefix is one that older kernels refuse to probe.
 */
#ifdef __x86_64__
#undef _SDT_NOP
#define _SDT_NOP .nops 5
#endif

/* A cache line of its own, and so one page. */
#define PROBE_FUNCTION __attribute__((visibility("default"), noinline, aligned(64)))
#define SEMAPHORE __attribute__((visibility("hidden"), section(".probes")))

SEMAPHORE unsigned short otel_memory_alloc_semaphore;
SEMAPHORE unsigned short otel_memory_free_semaphore;

PROBE_FUNCTION void memtraced_sampled_alloc(const void *block, uint64_t size, uint64_t weight)
{
	STAP_PROBE3(otel_memory, alloc, block, size, weight);
}

PROBE_FUNCTION void memtraced_sampled_free(const void *block)
{
	STAP_PROBE1(otel_memory, free, block);
}
