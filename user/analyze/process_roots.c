/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/process_roots.h"

#include "analyze/exit_frame.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/abi_book.h"
#include "target/glibc/glibc_heap.h"
#include "target/glibc/glibc_memory.h"
#include "target/glibc/glibc_threads.h"
#include "target/hold/stop.h"
#include "target/memory.h"
#include "trace/live/cuts/live_blocks.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

/*
 * What the kernel leaves on a stack that is kept for signal handlers (sigaltstack(2)) when it calls
 * one: where that stack is, and which function was interrupted.
 */
struct signal_frame {
	uint64_t stack_start;	 /* of the handler's stack */
	uint64_t interrupted_sp; /* on another one */
};

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

/* Is `sp` on a stack for signal handlers? On x86-64 and arm64. */
static bool signal_frame_find(const struct memory *memory, uint64_t sp,
			      struct signal_frame *ret_frame)
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

/*
 * Which parts of their stacks the threads of a stopped process use: those from the stack pointer
 * on, and behind a signal handler's, on a stack of its own (sigaltstack(2)), those of the function
 * that it interrupts. One thread.
 */
struct stack_use {
	uint64_t sp;
	uint64_t begin; /* of what is in use: with the red zone, or without exit handlers' frames */
	uint64_t start; /* of the stack itself; `begin` where it is not known */
};

struct stack_uses {
	VEC(struct stack_use) list;
};

#if defined(__x86_64__)
#define RED_ZONE 128 /* System V ABI: a function may use what is below sp */
#else
#define RED_ZONE 0
#endif

/* A function that has only just begun, and one that does not return, have nothing there. */
static uint64_t with_red_zone(const struct memory *memory, uint64_t sp)
{
	const struct memory_map *map = memory_find(memory, sp);

	if (!map)
		return sp;
	return sp - map->start <= RED_ZONE ? map->start : sp - RED_ZONE;
}

static uint64_t without_exit(const struct memory *memory, const struct exit_frame *exit_frame,
			     uint64_t sp)
{
	const struct memory_map *map = memory_find(memory, sp);

	return map && exit_frame ? exit_frame_find(exit_frame, sp, map->end) : sp;
}

static int add_use(struct stack_uses *uses, uint64_t sp, uint64_t begin, uint64_t start)
{
	return vec_push(&uses->list, (struct stack_use){
					     .sp = sp,
					     .begin = begin,
					     .start = start && start < begin ? start : begin,
				     });
}

static uint64_t find_start(const struct memory *memory, const struct stopped_thread *thread,
			   uint64_t sp)
{
	uint64_t start;

	return glibc_stack_start(memory, thread->tls, sp, &start) ? start : 0;
}

static int add_thread(struct stack_uses *uses, const struct memory *memory,
		      const struct stopped_thread *thread, const struct exit_frame *exit_frame,
		      bool begins)
{
	bool ends = exit_frame && thread->system_call == SYS_exit_group;
	uint64_t begin = ends	? without_exit(memory, exit_frame, thread->sp) :
			 begins ? thread->sp :
				  with_red_zone(memory, thread->sp);
	struct signal_frame frame;
	int r;

	if (!signal_frame_find(memory, thread->sp, &frame))
		return add_use(uses, thread->sp, begin, find_start(memory, thread, thread->sp));
	r = add_use(uses, thread->sp, begin, frame.stack_start);
	return r ? r :
		   add_use(uses, frame.interrupted_sp, with_red_zone(memory, frame.interrupted_sp),
			   find_start(memory, thread, frame.interrupted_sp));
}

/* Of smaller mappings it is not asked which pages were touched. */
#define ASK_FROM_BYTES (256 * 1024)

struct builder {
	const struct memory *memory;
	const struct process_roots_opts *opts;
	const struct stopped_thread *threads;
	size_t n_threads;
	bool all_known; /* where every thread's stack is */
	bool has_glibc;
	bool kept_known; /* which stacks glibc keeps: it has said so */
	struct stack_uses stacks;
	uint64_t brk_start, brk_end; /* the allocator's part of what brk(2) gave; 0: it has none */
	struct process_roots *roots;
};

/* --- ranges ---------------------------------------------------------------------------------- */

static int add_range(struct builder *b, uint64_t start, uint64_t end, uint32_t flags)
{
	if (start >= end)
		return 0;
	return vec_push(&b->roots->ranges, (struct reach_range){ start, end, flags });
}

/* Pages that nobody has touched are zero, or the file's, in which no block's address can be. */
static int add_touched(struct builder *b, uint64_t start, uint64_t end, uint32_t flags)
{
	_cleanup_free_ struct memory_range *ranges = NULL;
	size_t n;
	int r;

	if (start >= end || end - start < ASK_FROM_BYTES)
		return add_range(b, start, end, flags);
	r = memory_touched(b->memory, start, end, &ranges, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_range(b, ranges[i].start > start ? ranges[i].start : start,
			      ranges[i].end < end ? ranges[i].end : end, flags);
	return r;
}

/* --- stacks ---------------------------------------------------------------------------------- */

/* The lowest begin of the stacks in use in the mapping; 0: there is none. */
static uint64_t lowest_begin(const struct builder *b, const struct memory_map *map)
{
	uint64_t lowest = 0;

	vec_foreach(&b->stacks.list, use)
		if (memory_map_has(map, use->sp) && (lowest == 0 || use->begin < lowest))
			lowest = use->begin;
	return lowest;
}

/* What is known to be below a stack pointer, whatever the stack lies in. */
static int add_unused(struct builder *b)
{
	int r = 0;

	vec_foreach(&b->stacks.list, use)
		if (r == 0)
			r = ranges_add(&b->roots->unused, use->start, use->begin);
	return r;
}

/* Is it a stack that is kept for the next thread? Then nothing in it is in use. */
static bool is_kept_stack(const struct builder *b, const struct memory_map *map,
			  struct glibc_stack *ret_stack)
{
	if (b->kept_known || !b->all_known || !glibc_stack_find(b->memory, map, ret_stack))
		return false;
	/* A thread may be on another stack of its own making. */
	for (size_t i = 0; i < b->n_threads; i++)
		if (memory_map_has(map, b->threads[i].tls))
			return false;
	return true;
}

/* The block of a DTV begins with the words before its entry 0: the number of entries. */
static int add_kept_stack(struct builder *b, uint64_t vector)
{
	if (!vector)
		return 0;
	if (b->opts->with_kept)
		return vec_push(&b->roots->words, vector);
	return vec_push(&b->roots->kept_vectors, vector - 2 * sizeof(uint64_t));
}

/* As any thread's descriptor leads to them; of those of other libraries none does. */
#define ASKED_THREADS 8

static int add_kept_stacks(struct builder *b)
{
	struct glibc_kept_stacks kept = { 0 };
	int r = -ENOENT;

	for (size_t i = 0; i < b->n_threads && i < ASKED_THREADS && r == -ENOENT; i++)
		if (b->threads[i].tls)
			r = glibc_kept_stacks_find(b->memory, b->threads[i].tls, &kept);
	b->kept_known = r == 0;
	vec_foreach(&kept.list, stack) {
		if (r == 0)
			r = ranges_add(&b->roots->unused, stack->start, stack->end);
		if (r == 0)
			r = add_kept_stack(b, stack->vector);
	}
	vec_done(&kept.list);
	return r == -ENOENT ? 0 : r;
}

/* --- mappings -------------------------------------------------------------------------------- */

/* Without the allocators' areas. */
static int add_outside(struct builder *b, uint64_t start, uint64_t end)
{
	size_t n = b->opts->areas ? b->opts->areas->list.len : 0;
	int r = 0;

	for (size_t i = 0; i < n && start < end && r == 0; i++) {
		const struct range *area = &b->opts->areas->list.data[i];

		if (area->end <= start)
			continue;
		if (area->start >= end)
			break;
		r = add_touched(b, start, area->start, 0);
		start = area->end;
	}
	return r ? r : add_touched(b, start, end, 0);
}

/* Anonymous memory without the heaps of glibc's arenas. */
static int add_anonymous(struct builder *b, const struct memory_map *map)
{
	uint64_t at = map->start, start, end;
	int r = 0;

	while (r == 0 && !b->opts->unknown_blocks &&
	       glibc_heap_find(b->memory, map, at, &start, &end)) {
		r = add_outside(b, at, start);
		at = end;
	}
	return r ? r : add_outside(b, at, map->end);
}

static bool is_late(const struct builder *b)
{
	return b->opts->deadline_ns && clock_monotonic_ns() >= b->opts->deadline_ns;
}

/* What brk(2) gave is the allocator's, but for what other callers of sbrk(2) have of it. */
static int add_heap(struct builder *b, const struct memory_map *map)
{
	int r;

	if (is_late(b)) /* where the allocator's part ends was not found out */
		return 0;
	r = add_touched(b, map->start, b->brk_start < map->end ? b->brk_start : map->end, 0);
	return r ? r :
		   add_touched(b, b->brk_end > map->start ? b->brk_end : map->start, map->end, 0);
}

/* What counts the process's blocks has their addresses. */
static bool is_book(const struct memory_map *map)
{
	return map->path && strstr(map->path, "memfd:" ABI_BOOK_NAME);
}

static int add_map(struct builder *b, const struct memory_map *map)
{
	struct glibc_stack stack;
	uint64_t begin;

	switch (map->kind) {
	case MEMORY_DEVICE:
		return 0;
	case MEMORY_HEAP:
		return add_heap(b, map);
	case MEMORY_FILE:
		return add_touched(b, map->start, map->end,
				   !b->has_glibc || glibc_is_library(map->path) ? REACH_ROOT_GLIBC :
										  0);
	case MEMORY_SHARED:
		return is_book(map) ? 0 : add_touched(b, map->start, map->end, 0);
	case MEMORY_STACK:
	case MEMORY_ANONYMOUS:
		break;
	}
	begin = lowest_begin(b, map);
	/* Who puts stacks into memory of other use has no guard before them. */
	if (begin && (map->kind == MEMORY_STACK || map->behind_guard))
		return add_touched(b, begin, map->end, 0);
	if (begin || map->kind == MEMORY_STACK)
		return add_touched(b, map->start, map->end, 0);
	if (map->behind_guard && is_kept_stack(b, map, &stack))
		return add_kept_stack(b, stack.vector);
	return add_anonymous(b, map);
}

/*
 * Data that was written and then protected: a program that is linked statically does so with what
 * its libc has set up (PT_GNU_RELRO), which has allocated by then, as ld.so has not.
 */
static int add_protected(struct builder *b, const struct memory_code *map)
{
	_cleanup_free_ struct memory_range *ranges = NULL;
	size_t n;
	int r = memory_written(b->memory, map->start, map->end, &ranges, &n);

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_range(b, ranges[i].start, ranges[i].end, 0);
	return r;
}

static int add_maps(struct builder *b)
{
	size_t n, index = 0;
	const struct memory_map *maps = memory_maps(b->memory, &n);
	struct memory_code map;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = add_map(b, &maps[i]);
	while (r == 0 && memory_next_any(b->memory, &index, &map))
		if (map.is_file && map.readable && !map.writable && !map.executable && !map.shared)
			r = add_protected(b, &map);
	return r;
}

/* Does it stand where a function begins? */
static bool is_caller(const struct builder *b, const struct stopped_thread *thread)
{
	return b->opts->caller && thread->tid == b->opts->caller;
}

/* Who has called exit_group returns to nothing that could use them; memcheck agrees. */
static bool registers_count(const struct builder *b, const struct stopped_thread *thread)
{
	return !b->opts->exiting || !thread->is_exiting || thread->system_call != SYS_exit_group;
}

/*
 * Registers, by their places in struct stopped_thread: those in which a function is passed nothing
 * and which it need not keep (rax, r11; x9 to x17), and those of arguments from the fourth on, and
 * of the first ones, where results go (x8) and the frame around a nested function (r10).
 */
#if defined(__x86_64__)
#define DEAD_AT_CALLS (1U << 0 | 1U << 11)
#define LATER_ARGUMENTS (1U << 2 | 1U << 8 | 1U << 9)
#define FIRST_ARGUMENTS (1U << 3 | 1U << 4 | 1U << 5 | 1U << 10)
#else
#define DEAD_AT_CALLS 0x3fe00U
#define LATER_ARGUMENTS 0xf8U
#define FIRST_ARGUMENTS 0x107U
#endif

/* A bit for each register that holds nothing that is still used. */
static uint32_t dead_registers(const struct builder *b, const struct stopped_thread *thread)
{
	/* The first one of execve is a path; of execveat, which has five, a descriptor. */
	bool has_three = b->opts->arguments == ARGUMENTS_OF_EXEC &&
			 thread->registers[STOP_FIRST_ARGUMENT] > UINT32_MAX;

	if (!registers_count(b, thread))
		return UINT32_MAX;
	if (!is_caller(b, thread))
		return 0;
	if (b->opts->arguments == ARGUMENTS_NONE)
		return DEAD_AT_CALLS | FIRST_ARGUMENTS | LATER_ARGUMENTS;
	return DEAD_AT_CALLS | (has_three ? LATER_ARGUMENTS : 0);
}

static int add_registers(struct builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->n_threads; i++) {
		uint32_t dead = dead_registers(b, &b->threads[i]);

		for (size_t k = 0; k < STOP_REGISTERS && r == 0; k++)
			if (b->threads[i].registers[k] && !(dead >> k & 1))
				r = vec_push(&b->roots->words, b->threads[i].registers[k]);
	}
	return r;
}

static int add_files(struct builder *b)
{
	struct memory_code code;
	size_t index = 0;
	int r = 0;

	while (r == 0 && memory_next_any(b->memory, &index, &code)) {
		uint32_t flags = (code.readable ? REACH_FILE_READABLE : 0) |
				 (code.executable ? REACH_FILE_EXECUTABLE : 0);

		b->has_glibc |= code.is_file && glibc_is_library(code.path);
		if (code.is_file && flags)
			r = vec_push(&b->roots->files,
				     (struct reach_range){ code.start, code.end, flags });
	}
	return r;
}

static int find_stacks(struct builder *b)
{
	_cleanup_(exit_frame_free_p) struct exit_frame *exit_frame = NULL;
	int r = 0;

	/* Exit handlers may have run. */
	if (b->opts->exiting)
		r = exit_frame_new(b->memory, b->opts->worker, &exit_frame);
	for (size_t i = 0; i < b->n_threads && r == 0; i++)
		if (b->threads[i].has_sp)
			r = add_thread(&b->stacks, b->memory, &b->threads[i], exit_frame,
				       is_caller(b, &b->threads[i]));
	return r;
}

/* Of an allocator that is not glibc's: from its first block to its last one. */
static void find_blocks_in_brk(struct builder *b)
{
	size_t n;
	const struct memory_map *maps = memory_maps(b->memory, &n);
	uint64_t start = UINT64_MAX, end = 0;

	for (size_t i = 0; i < n; i++) {
		if (maps[i].kind != MEMORY_HEAP)
			continue;
		start = maps[i].start < start ? maps[i].start : start;
		end = maps[i].end;
	}
	for (size_t i = 0; i < b->opts->n_blocks; i++) {
		const struct live_block *block = &b->opts->blocks[i];

		if (block->addr < start || block->addr >= end)
			continue;
		b->brk_start = b->brk_end ? b->brk_start : block->addr;
		b->brk_end = block->addr + block->size;
	}
}

static void find_brk(struct builder *b)
{
	struct glibc_source source = glibc_source_of(b->memory);

	source.deadline_ns = b->opts->deadline_ns;
	if (glibc_brk_extent(&source, &b->brk_start, &b->brk_end))
		return;
	b->brk_start = b->brk_end = 0;
	find_blocks_in_brk(b);
}

static int build(struct builder *b)
{
	int r = add_files(b);

	if (r == 0)
		r = find_stacks(b);
	if (r == 0)
		r = add_unused(b);
	if (r == 0)
		r = add_registers(b);
	if (r == 0)
		r = add_kept_stacks(b);
	if (r == 0 && !b->opts->unknown_blocks)
		find_brk(b);
	if (r == 0)
		r = add_maps(b);
	vec_done(&b->stacks.list);
	return r;
}

int process_roots_new(const struct memory *memory, const struct stop *stop,
		      const struct process_roots_opts *opts, struct process_roots **ret_roots)
{
	_cleanup_(process_roots_free_p) struct process_roots *roots = calloc(1, sizeof(*roots));
	struct builder b = { .memory = memory, .opts = opts, .roots = roots };
	int r;

	if (!roots)
		return -ENOMEM;
	b.threads = stop_threads(stop, &b.n_threads);
	b.all_known = stop_running(stop) == 0;
	for (size_t i = 0; i < b.n_threads; i++)
		b.all_known &= b.threads[i].has_sp && b.threads[i].tls != 0;
	r = build(&b);
	if (r < 0)
		return r;
	*ret_roots = TAKE_PTR(roots);
	return 0;
}

void process_roots_free(struct process_roots *roots)
{
	if (!roots)
		return;
	vec_done(&roots->ranges);
	ranges_done(&roots->unused);
	vec_done(&roots->words);
	vec_done(&roots->files);
	vec_done(&roots->kept_vectors);
	free(roots);
}
