/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frees that an allocator makes of blocks which its user has freed already: when a thread ends,
 * glibc's malloc passes what its cache holds to its own free again (tcache_thread_shutdown). Such
 * calls are direct ones from beside free, while the rest of libc calls free through the PLT. Seen
 * from outside they are frees of unknown blocks, and no fault of the program.
 *
 * From glibc 2.43 on, a thread's first free makes its cache and jumps back to the beginning of free
 * (tcache_free_init), which is then seen once more. On x86-64 the return address of the call before
 * the jump, which stays below the stack pointer, tells it.
 */
#ifndef MEMTRACED_PROBE_INNER_FREES_H
#define MEMTRACED_PROBE_INNER_FREES_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;

#define INNER_FREES_MAX 8

/*
 * Return addresses of such calls of the function at `vaddr`, and of the calls before such jumps, in
 * the file's own addresses. Their number; of a static executable, where every call is direct, those
 * in functions of these names.
 */
size_t inner_frees(struct elf_file *file, uint64_t vaddr, uint64_t ret_returns[INNER_FREES_MAX]);

#endif
