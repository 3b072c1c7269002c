/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks: which of the frames that came are a stack's, and whether these are all. */
#include "trace/live/live_process.h"

#include <errno.h>

/* A frame-pointer walk is whole when it ended where stacks begin. */
static bool stack_complete(const struct live_process *process, const uint64_t *frames, size_t n)
{
	const struct code_range *range = n ? live_code_at(process, frames[n - 1]) : NULL;

	return range && range->object &&
	       object_starts_stack(range->object, frames[n - 1] - range->start + range->offset);
}

/* A frame-pointer walk through code without frame pointers goes astray: what is no code is cut. */
static size_t credible_frames(const struct live_process *process, const uint64_t *frames, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!live_code_at(process, frames[i]))
			return i;
	return n;
}

/*
 * The frames that are the stack's. Of a system call, libc's wrappers have no frame: the word at
 * [sp], if it is code, is their return address; their own address is kept where nothing else stands
 * for the call.
 */
static size_t frame_pointer_frames(const struct live_process *process,
				   const struct abi_ev_stack *ev, uint64_t edited[ABI_MAX_FRAMES])
{
	bool syscall = ev->flags & ABI_STACK_SYSCALL;
	bool keep_ip = !syscall || ev->flags & ABI_STACK_SYSCALL_IP;
	size_t n = 0;

	for (uint32_t i = 0; i < ev->frames; i++) {
		if (i == 0 && !keep_ip)
			continue;
		if (i == 1 && syscall && !live_code_at(process, ev->frame[1]))
			continue;
		edited[n++] = ev->frame[i];
	}
	return credible_frames(process, edited, n);
}

/*
 * The same of a walk by call frame information, which has found all frames: it is whole unless it
 * was cut. Only where it had to follow frame pointers to no end may it have gone astray.
 */
static size_t unwound_frames(const struct live_process *process, const struct abi_ev_stack *ev,
			     uint64_t edited[ABI_MAX_FRAMES])
{
	bool drop_ip = ev->flags & ABI_STACK_SYSCALL && !(ev->flags & ABI_STACK_SYSCALL_IP);
	size_t n = 0;

	for (uint32_t i = drop_ip; i < ev->frames; i++)
		edited[n++] = ev->frame[i];
	if (ev->flags & ABI_STACK_FRAME_POINTERS && ABI_STACK_CUT(ev->flags))
		return credible_frames(process, edited, n);
	return n;
}

/* ret_cut: enum stack_cut or abi_stack_cut. */
size_t live_stack_frames(const struct live_process *process, const struct abi_ev_stack *ev,
			 uint64_t edited[ABI_MAX_FRAMES], uint8_t *ret_cut)
{
	size_t n;

	if (ev->flags & ABI_STACK_CFI) {
		*ret_cut = ABI_STACK_CUT(ev->flags);
		return unwound_frames(process, ev, edited);
	}
	n = frame_pointer_frames(process, ev, edited);
	*ret_cut = ABI_CUT_NONE;
	if (ev->flags & ABI_STACK_TRUNCATED)
		*ret_cut = ABI_CUT_LIMIT;
	else if (!stack_complete(process, edited, n))
		*ret_cut = STACK_CUT_FRAME_POINTERS;
	return n;
}

int live_take_stack(struct live *live, const struct abi_ev_stack *ev)
{
	struct live_process *process = live_process_at(live, ev->head.slot);
	const uint64_t *frames = (const uint64_t *)ev->frame;
	size_t n = ev->frames;
	struct live_stack *stack;
	struct record record = { .type = RECORD_STACK };
	uint8_t cut = ev->flags & ABI_STACK_TRUNCATED ? ABI_CUT_LIMIT : ABI_CUT_NONE;
	bool kernel = ev->flags & ABI_STACK_KERNEL;
	uint64_t edited[ABI_MAX_FRAMES];
	int r;

	if (!process && !kernel) {
		live_count_loss(live, NULL, LOSS_STATE);
		return 0;
	}
	if (!kernel) {
		n = live_stack_frames(process, ev, edited, &cut);
		frames = edited;
	}
	if (cut == ABI_CUT_PRUNED && n) {
		r = live_unwind_fully(live, process, frames[n - 1]);
		if (r)
			return r;
	}
	stack = malloc(sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	stack->id = ev->hash;
	stack->cut = cut;
	stack->frame_pointers = ev->flags & ABI_STACK_FRAME_POINTERS;
	record.stack = (struct record_stack){
		.id = ev->hash,
		.slot = kernel ? ev->head.slot : process->image,
		.time_ns = ev->head.time_ns,
		.truncated = cut != ABI_CUT_NONE,
		.interrupted = ev->flags & ABI_STACK_INTERRUPTED,
		.n_frames = n,
		.frames = frames,
	};
	r = kernel ? 0 : vec_push(&process->stacks, ev->hash);
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
