/* SPDX-License-Identifier: 0BSD */
/*
 * For programs with an allocator of their own: what memtraced is to know of its blocks, as
 * VALGRIND_MALLOCLIKE_BLOCK and the like tell it to Valgrind, and what a program may ask. Copy this
 * file, or include it where it is installed; it needs no library, and costs a call that returns at
 * once where memtraced does not look.
 *
 * memtraced finds these functions by their names. In a program that is stripped of its symbol table
 * (`strip`, `-s`) and does not export them (-rdynamic, or in a shared library) it finds requests
 * for leak checks, which are USDT probes, too, but not the blocks of pools.
 */
#ifndef MEMTRACED_H
#define MEMTRACED_H

#include <stddef.h>

/* One for the whole program, never inlined, never known to do nothing. */
#define MEMTRACED_FUNCTION                                                                         \
	__attribute__((__weak__, __noinline__, __used__, __visibility__("default")))

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
/*
 * A note of SystemTap's, version 3: the probe memtraced:NAME with its arguments, whose counter of
 * listeners (its semaphore) is memtraced_listeners.
 */
#define MEMTRACED_PROBE(name, arguments)                                                           \
	"990: nop\n"                                                                               \
	".pushsection .note.stapsdt,\"\",\"note\"\n"                                               \
	".balign 4\n"                                                                              \
	".4byte 992f-991f, 994f-993f, 3\n"                                                         \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte 990b, 0, memtraced_listeners\n"                                               \
	".asciz \"memtraced\"\n"                                                                   \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"" arguments "\"\n"                                                               \
	"994: .balign 4\n"                                                                         \
	".popsection\n"
#else
#define MEMTRACED_PROBE(name, arguments) ""
#endif

/* The kernel counts here who looks. Of each program and library its own. */
extern unsigned short memtraced_listeners;
__attribute__((__weak__, __used__, __visibility__("hidden"),
	       __section__(".probes"))) unsigned short memtraced_listeners = 0;

/* As RUNNING_ON_VALGRIND: 1 while memtraced looks at the program's blocks or leaks; else 0. */
MEMTRACED_FUNCTION int memtraced_is_running(void)
{
	return *(volatile unsigned short *)&memtraced_listeners != 0;
}

/*
 * A block of a pool was handed out. Its memory should be from mmap(2), or a part of a block of
 * malloc behind the first bytes of that: two blocks cannot begin at one address. One that does not
 * begin at a multiple of 8 is not counted (loss address-out-of-range). Returns the block.
 */
MEMTRACED_FUNCTION void *memtraced_malloclike_block(void *block, size_t size)
{
	__asm__ volatile(MEMTRACED_PROBE("malloclike_block", "8@%0 8@%1")
			 : "+r"(block)
			 : "r"(size)
			 : "memory");
	return block;
}

/* It was given back. */
MEMTRACED_FUNCTION void memtraced_freelike_block(void *block)
{
	__asm__ volatile(MEMTRACED_PROBE("freelike_block", "8@%0") : : "r"(block) : "memory");
}

/* With --leak-check: the process is checked now. */
MEMTRACED_FUNCTION void memtraced_do_leak_check(void)
{
	__asm__ volatile(MEMTRACED_PROBE("do_leak_check", "") : : : "memory");
}

/* The same; the sums alone are shown. */
MEMTRACED_FUNCTION void memtraced_do_quick_leak_check(void)
{
	__asm__ volatile(MEMTRACED_PROBE("do_quick_leak_check", "") : : : "memory");
}

/* The same; what has grown since the check before is shown. */
MEMTRACED_FUNCTION void memtraced_do_added_leak_check(void)
{
	__asm__ volatile(MEMTRACED_PROBE("do_added_leak_check", "") : : : "memory");
}

/* The same; what has grown or shrunk since the check before is shown. */
MEMTRACED_FUNCTION void memtraced_do_changed_leak_check(void)
{
	__asm__ volatile(MEMTRACED_PROBE("do_changed_leak_check", "") : : : "memory");
}

/* What the last leak check of the process has found, for memtraced_count_leaks(). */
struct memtraced_leaks {
	size_t leaked_bytes, leaked_blocks;   /* definitely or indirectly lost */
	size_t dubious_bytes, dubious_blocks; /* possibly lost */
	size_t reachable_bytes, reachable_blocks;
	size_t suppressed_bytes, suppressed_blocks;
};

/* Of memtraced_count_leaks(): memtraced writes the sums there. */
MEMTRACED_FUNCTION void memtraced_write_leaks(struct memtraced_leaks *leaks)
{
	__asm__ volatile(MEMTRACED_PROBE("write_leaks", "8@%0") : : "r"(leaks) : "memory");
}

/*
 * As VALGRIND_COUNT_LEAKS and VALGRIND_COUNT_LEAK_BLOCKS. Where nothing is checked, and before the
 * first check, all are 0.
 */
MEMTRACED_FUNCTION void memtraced_count_leaks(struct memtraced_leaks *leaks)
{
	static const struct memtraced_leaks none = { 0, 0, 0, 0, 0, 0, 0, 0 };

	*leaks = none;
	memtraced_write_leaks(leaks);
}

#ifdef __cplusplus
}
#endif

#endif
