/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks: which of the frames that came are a stack's, and whether these are all. */
#include "trace/live/stacks/live_stacks.h"

#include "memtraced.skel.h"
#include "trace/live/code/live_code.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/slots/shared_state.h"

#include <errno.h>
#include <string.h>

static const char *const cut_names[STACK_CUTS] = {
	[ABI_CUT_LIMIT] = "limit",
	[ABI_CUT_NO_MAPPING] = "no-mapping",
	[ABI_CUT_NO_CFI] = "no-cfi",
	[ABI_CUT_UNSUPPORTED] = "unsupported",
	[ABI_CUT_UNREADABLE] = "unreadable",
	[ABI_CUT_NOT_RISING] = "not-rising",
	[ABI_CUT_PRUNED] = "pruned",
	[STACK_CUT_FRAME_POINTERS] = "frame-pointers",
	[STACK_CUT_LOST] = "lost",
	[STACK_CUT_GONE] = "gone",
	[STACK_CUT_GENERATED] = "generated-code",
	[STACK_CUT_ROOM] = "frames-full",
};

const char *live_cut_name(size_t cut)
{
	return cut_names[cut];
}

void live_count_stack(const struct live *live, uint64_t id, uint64_t events,
		      struct cut_coverage *coverage)
{
	const struct stack_facts *stack = stack_index_find(live->stacks, id);

	if (id == RECORD_STACK_NO_CODE) {
		coverage->stacks_complete += events;
	} else if (!stack) {
		coverage->cuts[live->opts.run.max_stack ? STACK_CUT_LOST : ABI_CUT_LIMIT] += events;
	} else if (stack->cut) {
		coverage->cuts[stack->cut] += events;
	} else {
		coverage->stacks_complete += events;
		coverage->stacks_guided += stack->frame_pointers ? events : 0;
	}
}

/* A frame-pointer walk is whole when it ended where stacks begin. */
static bool stack_complete(const struct live_process *process, const struct live_frames *frames)
{
	uint64_t last = frames->n ? frames->frame[frames->n - 1] : 0;
	const struct code_range *range = frames->n ? code_map_find(&process->code, last) : NULL;

	return range && range->object &&
	       object_starts_stack(range->object, last - range->start + range->offset);
}

/* A frame-pointer walk through code without frame pointers goes astray: what is no code is cut. */
static void cut_incredible(const struct live_process *process, struct live_frames *frames)
{
	for (size_t i = 1; i < frames->n; i++)
		if (!code_map_find(&process->code, frames->frame[i]))
			frames->n = i;
}

static void add_frame(const struct abi_ev_stack *ev, size_t i, struct live_frames *to)
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
		if (i == 1 && syscall && !code_map_find(&process->code, ev->frame[1]))
			continue;
		add_frame(ev, i, ret);
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
		add_frame(ev, i, ret);
	if (ev->flags & ABI_STACK_FRAME_POINTERS && ABI_STACK_CUT(ev->flags))
		cut_incredible(process, ret);
}

/* What the kernel says of its own stack. */
static void kernel_frames(const struct abi_ev_stack *ev, struct live_frames *ret)
{
	ret->cut = ev->flags & ABI_STACK_TRUNCATED ? ABI_CUT_LIMIT : ABI_CUT_NONE;
	for (uint32_t i = 0; i < ev->frames; i++)
		add_frame(ev, i, ret);
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
	const struct code_range *range = code_map_find(&process->code, last);

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
	if (live->opts.run.mappings && live->opts.most_stacks &&
	    process->stacks.len >= live->opts.most_stacks)
		shared_set_stacks_full(live->programs, process->slot);
}

/* Words behind those that every record has, up to the last that is not 0. */
static size_t more_exact(const struct live_frames *frames)
{
	size_t n = ABI_EXACT_WORDS;

	while (n > RECORD_EXACT_WORDS && !frames->exact[n - 1])
		n--;
	return n - RECORD_EXACT_WORDS;
}

/* A call that our library passes on has so many frames before it, as an allocator's go. */
#define FRAMES_OF_ALLOCATOR 16

static bool has_library(const struct live *live, const struct live_process *process,
			const struct live_frames *frames)
{
	if (!process || live->library.fd < 0)
		return false;
	for (size_t i = 0; i < frames->n && i < FRAMES_OF_ALLOCATOR; i++) {
		const struct code_range *range = code_map_find(&process->code, frames->frame[i]);

		if (range && range->object && live_is_book_library(live, range->object))
			return true;
	}
	return false;
}

/* Of a stack that finds no room, so that its site still has a name. */
#define FEWEST_FRAMES 8

/*
 * So that stacks take memory in proportion to the maps, however deep they are. One process may take
 * what leaves room for others (bpf/room.bpf.h).
 */
static void cut_to_room(const struct live *live, const struct live_process *process,
			struct live_frames *frames)
{
	uint64_t all = stack_index_frames(live->stacks), room = live->opts.run.room.frames;
	uint64_t left = room > all ? room - all : 0;

	if (frames->n <= FEWEST_FRAMES ||
	    (frames->n <= left &&
	     (!process || process->frames + frames->n <= left * ABI_ROOM_TIMES)))
		return;
	frames->n = FEWEST_FRAMES;
	frames->cut = STACK_CUT_ROOM;
	frames->exact[0] &= (1 << FEWEST_FRAMES) - 1;
	memset(frames->exact + 1, 0, sizeof(frames->exact) - sizeof(frames->exact[0]));
}

uint64_t live_place_bytes(const struct live *live)
{
	return live->opts.run.room.places;
}

int live_take_stack(struct live *live, const struct abi_ev_stack *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));
	struct stack_facts facts = { .id = ev->hash,
				     .frame_pointers = ev->flags & ABI_STACK_FRAME_POINTERS };
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
	facts.by_library = has_library(live, process, &frames);
	cut_to_room(live, process, &frames);
	facts.cut = frames.cut;
	facts.frames = (uint16_t)frames.n;
	record.stack = (struct record_stack){
		.id = ev->hash,
		.image = kernel ? RECORD_NO_IMAGE : process->image,
		.time_ns = ev->head.time_ns,
		.truncated = frames.cut != ABI_CUT_NONE,
		.interrupted = ev->flags & ABI_STACK_INTERRUPTED,
		.exact = { frames.exact[0], frames.exact[1] },
		.n_more_exact = more_exact(&frames),
		.more_exact = frames.exact + RECORD_EXACT_WORDS,
		.n_frames = frames.n,
		.frames = frames.frame,
	};
	r = kernel ? 0 : live_judge_stack(live, process, ev, frames.frame, frames.n, &facts);
	if (r == 0 && !kernel)
		r = vec_push(&process->stacks, ev->hash);
	if (r == 0 && !kernel)
		look_at_room(live, process);
	if (r == 0)
		r = stack_index_add(live->stacks, &facts);
	/* two CPUs may both have been first */
	if (r)
		return r == -EEXIST ? 0 : r;
	if (process)
		process->frames += frames.n;
	return live_emit(live, &record);
}

void live_forget_stacks(struct live *live, struct live_process *process)
{
	/* Counts of events may still name them. */
	if (live->jobs.n_events && !live->opts.forget_ended)
		return;
	/* Ids hold the image's number: they do not come back. */
	programs_forget_stacks(live->programs, process->stacks.data, process->stacks.len);
	shared_free_stack_room(live->programs, process->slot);
	vec_foreach(&process->stacks, id)
		stack_index_remove(live->stacks, *id);
	process->frames = 0;
}

void live_stacks_done(struct live_process *process)
{
	vec_done(&process->stacks);
}
