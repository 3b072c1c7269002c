/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/signal_frame.h"

#include "base/cleanup.h"
#include "target/memory.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

/* Handlers' frames are below the one that is sought; a deeper one than this is not found. */
#define SEARCH_BYTES (128 * 1024)
#define WORD sizeof(uint64_t)

/* As far as the kernel's struct ucontext and libc's are the same. */
#if defined(__x86_64__)
#define CONTEXT_SP offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP])
#elif defined(__aarch64__)
#define CONTEXT_SP offsetof(ucontext_t, uc_mcontext.sp)
#else
#error "where a signal's frame has the stack pointer on this machine"
#endif
#define CONTEXT_WORDS (CONTEXT_SP / WORD + 1)

/* arch/x86/include/uapi/asm/ucontext.h: UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS. */
#define CONTEXT_FLAGS 7U
#define STACK_AUTODISARM (1U << 31) /* SS_AUTODISARM of <linux/signal.h> */

/*
 * The frame says which stack is kept for handlers: that holds the handler's sp and the frame. What
 * is interrupted is elsewhere; of a handler that interrupts another it is not.
 */
static bool is_frame(const struct memory_map *map, const uint64_t *words, uint64_t addr,
		     uint64_t sp, struct signal_frame *ret_frame)
{
	const size_t stack = offsetof(ucontext_t, uc_stack) / WORD;
	uint64_t flags = words[0], link = words[offsetof(ucontext_t, uc_link) / WORD];
	uint64_t start = words[stack], stack_flags = words[stack + 1] & UINT32_MAX;
	uint64_t size = words[stack + 2], interrupted = words[CONTEXT_WORDS - 1];

	if (flags & ~(uint64_t)CONTEXT_FLAGS || link ||
	    stack_flags & ~(uint64_t)(STACK_AUTODISARM | SS_ONSTACK))
		return false;
	if (start < map->start || start > sp || size > map->end - start || addr - start >= size)
		return false;
	if (interrupted - start < size)
		return false;
	*ret_frame = (struct signal_frame){ .stack_start = start, .interrupted_sp = interrupted };
	return true;
}

bool signal_frame_find(const struct memory *memory, uint64_t sp, struct signal_frame *ret_frame)
{
	const struct memory_map *map = memory_find(memory, sp);
	uint64_t first = (sp + WORD - 1) & ~(WORD - 1);
	_cleanup_free_ uint64_t *words = NULL;
	size_t n;

	if (!map || first >= map->end)
		return false;
	n = (map->end - first < SEARCH_BYTES ? map->end - first : SEARCH_BYTES) / WORD;
	words = malloc(n * WORD);
	if (!words || memory_read(memory, first, words, n * WORD, NULL) < 0)
		return false;
	/* From the stack's end on: copies that a handler makes are below. */
	for (size_t i = n; i-- > 0;)
		if (n - i >= CONTEXT_WORDS &&
		    is_frame(map, &words[i], first + i * WORD, sp, ret_frame))
			return memory_find(memory, ret_frame->interrupted_sp) != NULL;
	return false;
}
