/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/stack_uses.h"

#include "analyze/exit_frame.h"
#include "target/glibc_memory.h"
#include "target/memory.h"
#include "target/signal_frame.h"
#include "target/stop.h"

#include <stdbool.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define RED_ZONE 128 /* System V ABI: a function may use what is below sp */
#else
#define RED_ZONE 0
#endif

/* Where the part of the stack begins that the thread uses. */
static uint64_t find_begin(const struct memory *memory, const struct exit_frame *exit_frame,
			   uint64_t sp)
{
	const struct memory_map *map = memory_find(memory, sp);
	uint64_t begin = sp;

	if (!map)
		return sp;
	if (exit_frame)
		begin = exit_frame_find(exit_frame, sp, map->end);
	if (begin != sp)
		return begin;
	return sp - map->start <= RED_ZONE ? map->start : sp - RED_ZONE;
}

static int add(struct stack_uses *uses, const struct memory *memory,
	       const struct exit_frame *exit_frame, uint64_t sp, uint64_t start)
{
	struct stack_use use = { .sp = sp, .begin = find_begin(memory, exit_frame, sp) };

	use.start = start && start < use.begin ? start : use.begin;
	return vec_push(&uses->list, use);
}

static uint64_t find_start(const struct memory *memory, const struct stopped_thread *thread,
			   uint64_t sp)
{
	uint64_t start;

	return glibc_stack_start(memory, thread->tls, sp, &start) ? start : 0;
}

static int add_thread(struct stack_uses *uses, const struct memory *memory,
		      const struct stopped_thread *thread, const struct exit_frame *exit_frame)
{
	struct signal_frame frame;
	int r;

	if (thread->system_call != SYS_exit_group)
		exit_frame = NULL;
	if (!signal_frame_find(memory, thread->sp, &frame))
		return add(uses, memory, exit_frame, thread->sp,
			   find_start(memory, thread, thread->sp));
	r = add(uses, memory, exit_frame, thread->sp, frame.stack_start);
	return r ? r :
		   add(uses, memory, NULL, frame.interrupted_sp,
		       find_start(memory, thread, frame.interrupted_sp));
}

int stack_uses_init(struct stack_uses *uses, const struct memory *memory,
		    const struct stopped_thread *threads, size_t n_threads,
		    const struct exit_frame *exit_frame)
{
	int r = 0;

	*uses = (struct stack_uses){ 0 };
	for (size_t i = 0; i < n_threads && r == 0; i++)
		if (threads[i].has_sp)
			r = add_thread(uses, memory, &threads[i], exit_frame);
	return r;
}

void stack_uses_done(struct stack_uses *uses)
{
	vec_done(&uses->list);
}
