/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks: which of the frames that came are a stack's, and whether these are all. */
#include "trace/live/live_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A frame-pointer walk is whole when it ended where stacks begin. */
static bool stack_complete(const struct live_process *process, const struct live_frames *frames)
{
	uint64_t last = frames->n ? frames->frame[frames->n - 1] : 0;
	const struct code_range *range = frames->n ? live_code_at(process, last) : NULL;

	return range && range->object &&
	       object_starts_stack(range->object, last - range->start + range->offset);
}

/* A frame-pointer walk through code without frame pointers goes astray: what is no code is cut. */
static void cut_incredible(const struct live_process *process, struct live_frames *frames)
{
	for (size_t i = 1; i < frames->n; i++)
		if (!live_code_at(process, frames->frame[i]))
			frames->n = i;
}

static void take_frame(const struct abi_ev_stack *ev, size_t i, struct live_frames *to)
{
	uint64_t exact = ev->exact[i / 64] >> i % 64 & 1;

	to->exact[to->n / 64] |= exact << to->n % 64;
	to->frame[to->n++] = ev->frame[i];
}

/*
 * The frames that are the stack's. Of a system call, libc's wrappers have no frame: the word at
 * [sp], if it is code, is their return address; their own address is kept where nothing else stands
 * for the call.
 */
static void frame_pointer_frames(const struct live_process *process, const struct abi_ev_stack *ev,
				 struct live_frames *ret)
{
	bool syscall = ev->flags & ABI_STACK_SYSCALL;
	bool keep_ip = !syscall || ev->flags & ABI_STACK_SYSCALL_IP;

	for (uint32_t i = 0; i < ev->frames; i++) {
		if (i == 0 && !keep_ip)
			continue;
		if (i == 1 && syscall && !live_code_at(process, ev->frame[1]))
			continue;
		take_frame(ev, i, ret);
	}
	cut_incredible(process, ret);
}

/*
 * The same of a walk by call frame information, which has found all frames: it is whole unless it
 * was cut. Only where it had to follow frame pointers to no end may it have gone astray.
 */
static void unwound_frames(const struct live_process *process, const struct abi_ev_stack *ev,
			   struct live_frames *ret)
{
	bool drop_ip = ev->flags & ABI_STACK_SYSCALL && !(ev->flags & ABI_STACK_SYSCALL_IP);

	for (uint32_t i = drop_ip; i < ev->frames; i++)
		take_frame(ev, i, ret);
	if (ev->flags & ABI_STACK_FRAME_POINTERS && ABI_STACK_CUT(ev->flags))
		cut_incredible(process, ret);
}

/* What the kernel says of its own stack. */
static void kernel_frames(const struct abi_ev_stack *ev, struct live_frames *ret)
{
	ret->cut = ev->flags & ABI_STACK_TRUNCATED ? ABI_CUT_LIMIT : ABI_CUT_NONE;
	for (uint32_t i = 0; i < ev->frames; i++)
		take_frame(ev, i, ret);
}

/* Made in memory that has no file, or a file of memory that is no ELF file (Erlang). */
static bool is_generated(const struct code_range *range)
{
	if (range->object)
		return strncmp(object_path(range->object), "/memfd:", strlen("/memfd:")) == 0 &&
		       object_unwind(range->object) == 0;
	return !range->unopened && !range->vdso;
}

/* Code in no table of files is either one that has come a moment ago, or it was never in any. */
static uint8_t cause_of_cut(const struct live_process *process, const struct live_frames *frames)
{
	uint64_t last = frames->n ? frames->frame[frames->n - 1] : 0;
	const struct code_range *range = live_code_at(process, last);

	if (frames->cut == ABI_CUT_NO_MAPPING && range && is_generated(range))
		return STACK_CUT_GENERATED;
	return frames->cut;
}

void live_stack_frames(const struct live_process *process, const struct abi_ev_stack *ev,
		       struct live_frames *ret)
{
	ret->n = 0;
	ret->cut = ABI_CUT_NONE;
	memset(ret->exact, 0, sizeof(ret->exact));
	if (ev->flags & ABI_STACK_KERNEL) {
		kernel_frames(ev, ret);
	} else if (ev->flags & ABI_STACK_CFI) {
		ret->cut = ABI_STACK_CUT(ev->flags);
		unwound_frames(process, ev, ret);
		ret->cut = cause_of_cut(process, ret);
	} else {
		frame_pointer_frames(process, ev, ret);
		if (ev->flags & ABI_STACK_TRUNCATED)
			ret->cut = ABI_CUT_LIMIT;
		else if (!stack_complete(process, ret))
			ret->cut = STACK_CUT_FRAME_POINTERS;
	}
}

/* The slot's next owner begins with an empty one. */
static void look_at_room(struct live *live, const struct live_process *process)
{
	struct abi_proc *proc = &live->programs->procs[process->slot];

	if (live->opts.mappings && live->opts.most_stacks &&
	    process->stacks.len >= live->opts.most_stacks)
		__atomic_store_n(&proc->stacks_full, 1, __ATOMIC_RELAXED);
}

/* Words behind those that every record has, up to the last that is not 0. */
static size_t more_exact(const struct live_frames *frames)
{
	size_t n = ABI_EXACT_WORDS;

	while (n > RECORD_EXACT_WORDS && !frames->exact[n - 1])
		n--;
	return n - RECORD_EXACT_WORDS;
}

int live_take_stack(struct live *live, const struct abi_ev_stack *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);
	struct live_stack *stack;
	struct record record = { .type = RECORD_STACK };
	bool kernel = ev->flags & ABI_STACK_KERNEL;
	struct live_frames frames;
	int r;

	if (!process && !kernel) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	live_stack_frames(process, ev, &frames);
	if (frames.cut == ABI_CUT_PRUNED && frames.n) {
		r = live_unwind_fully(live, process, frames.frame[frames.n - 1]);
		if (r)
			return r;
	}
	stack = malloc(sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	stack->id = ev->hash;
	stack->cut = frames.cut;
	stack->frame_pointers = ev->flags & ABI_STACK_FRAME_POINTERS;
	record.stack = (struct record_stack){
		.id = ev->hash,
		.slot = kernel ? ev->head.slot : process->image,
		.time_ns = ev->head.time_ns,
		.truncated = frames.cut != ABI_CUT_NONE,
		.interrupted = ev->flags & ABI_STACK_INTERRUPTED,
		.exact = { frames.exact[0], frames.exact[1] },
		.n_more_exact = more_exact(&frames),
		.more_exact = frames.exact + RECORD_EXACT_WORDS,
		.n_frames = frames.n,
		.frames = frames.frame,
	};
	r = kernel ? 0 : live_judge_stack(live, process, ev, &frames, stack);
	if (r == 0 && !kernel)
		r = vec_push(&process->stacks, ev->hash);
	if (r == 0 && !kernel)
		look_at_room(live, process);
	if (r == 0)
		r = hashmap_insert(live->stacks, stack);
	if (r) {
		free(stack);
		/* two CPUs may both have been first */
		if (r == -EEXIST)
			return 0;
		return r;
	}
	return live_emit(live, &record);
}
