/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap class: events of mmap, munmap, mremap and brk become region records. An
 * unmapping is announced at its entry and takes effect at its successful return, or earlier when
 * another thread is seen to have got a part of the range anew.
 */
#include "trace/live/regions/live_regions.h"

#include "base/page.h"
#include "trace/live/code/live_code.h"
#include "trace/live/probes/live_probes.h"
#include "trace/live/slots/live_slots.h"
#include "trace/live/stacks/live_stacks.h"

#include <sys/mman.h>

/* One region and its stack; of sites of mappings a cut has no sum. */
static int count_region(struct live *live, const struct live_process *process, uint64_t stack)
{
	live->mapped.counts.events++;
	if (!stack_index_find(live->stacks, stack) &&
	    (process->waiting.stacks.len || live->waiting.unannounced.len))
		return vec_push(&live->mapped.waiting, stack);
	live_count_stack(live, stack, 1, &live->mapped.counts);
	return 0;
}

void live_count_waiting_regions(struct live *live)
{
	vec_foreach(&live->mapped.waiting, stack)
		live_count_stack(live, *stack, 1, &live->mapped.counts);
	live->mapped.waiting.len = 0;
}

/* What the dynamic linker has mapped last is our library: this is the rest of it. */
static bool is_of_library(const struct live *live, const struct live_process *process,
			  const struct abi_ev_map *ev)
{
	size_t n = process->code.ranges.len;
	const struct object *last = n ? process->code.ranges.data[n - 1].object : NULL;

	return process->links.book == LINKS_BOOK_EXPECTED && ev->flags & MAP_FIXED && last &&
	       live_is_book_library(live, last);
}

/* Mapped by an allocator for itself, or by our library, which calls it. */
static bool is_area(const struct live *live, const struct live_process *process,
		    const struct abi_ev_map *ev)
{
	const struct stack_facts *stack;

	if (ev->in_allocator || is_of_library(live, process, ev))
		return true;
	stack = process->links.book ? stack_index_find(live->stacks, ev->stack) : NULL;
	return stack && stack->by_library;
}

static int emit_region(struct live *live, const struct live_process *process,
		       const struct abi_ev_map *ev, uint16_t fn)
{
	struct record record = {
		.type = RECORD_REGION,
		.region = { .image = process->image,
			    .start = ev->addr,
			    .end = ev->addr + page_round_up(ev->len),
			    .stack = ev->stack,
			    .time_ns = ev->head.time_ns,
			    .fn = fn },
	};
	int r;

	/* What an allocator maps is told by its calls in flight, which only exact depth sees. */
	if (process->depth != RECORD_DEPTH_EXACT)
		return 0;
	r = count_region(live, process, ev->stack);
	return r ? r : live_emit(live, &record);
}

static int emit_gone(struct live *live, const struct live_process *process, uint64_t start,
		     uint64_t end, uint64_t time_ns)
{
	struct record record = {
		.type = RECORD_REGION_GONE,
		.region_gone = { process->image, start, end, time_ns },
	};

	return end > start ? live_emit(live, &record) : 0;
}

static int unmap(struct live *live, struct live_process *process, uint64_t start, uint64_t end,
		 uint64_t time_ns)
{
	int r = live_code_unmap(live, process, start, end, time_ns);

	if (r == 0)
		r = ranges_remove(&process->regions.areas, start, end);
	return r ? r : emit_gone(live, process, start, end, time_ns);
}

/* A thread enters munmap or mremap. */
static int on_unmap_entry(struct live_process *process, const struct abi_ev_map *ev)
{
	struct pending_unmap unmap = { ev->tid, ev->addr, ev->addr + page_round_up(ev->len) };

	if (ev->head.type == ABI_EV_MREMAP && ev->flags & MREMAP_DONTUNMAP)
		unmap.end = unmap.start;
	vec_foreach(&process->regions.pending, p) {
		if (p->tid == ev->tid) { /* its last call ended without a return: a signal */
			*p = unmap;
			return 0;
		}
	}
	return vec_push(&process->regions.pending, unmap);
}

/* A munmap or mremap returned. */
static int on_unmap_result(struct live *live, struct live_process *process,
			   const struct abi_ev_map *ev)
{
	struct pending_unmap pending = {};
	int r;

	vec_foreach(&process->regions.pending, p) {
		if (p->tid != ev->tid)
			continue;
		pending = *p;
		*p = process->regions.pending.data[--process->regions.pending.len];
		break;
	}
	if (ev->result < 0 && ev->result >= -4095)
		return 0;
	r = unmap(live, process, pending.start, pending.end, ev->head.time_ns);
	if (r || !ev->len)
		return r;
	if (is_area(live, process, ev))
		return ranges_add(&process->regions.areas, ev->addr,
				  ev->addr + page_round_up(ev->len));
	return emit_region(live, process, ev, FUNCTION_MREMAP);
}

/* A mapping in a range that is being unmapped shows that the unmapping has been done. */
static int settle_pending(struct live *live, struct live_process *process, uint64_t start,
			  uint64_t end, uint64_t time_ns)
{
	vec_foreach(&process->regions.pending, p) {
		uint64_t gone_start = p->start, gone_end = p->end;
		int r;

		if (start >= gone_end || end <= gone_start)
			continue;
		p->end = p->start;
		r = unmap(live, process, gone_start, gone_end, time_ns);
		if (r)
			return r;
	}
	return 0;
}

static int on_mmap(struct live *live, struct live_process *process, const struct abi_ev_map *ev)
{
	uint64_t end = ev->addr + page_round_up(ev->len);
	int r = settle_pending(live, process, ev->addr, end, ev->head.time_ns);

	if (r)
		return r;
	/* what a fixed mapping covers is gone, also under a file or the allocator's own region */
	if (ev->flags & MAP_FIXED) {
		r = unmap(live, process, ev->addr, end, ev->head.time_ns);
		if (r)
			return r;
	}
	if (!(ev->flags & MAP_ANONYMOUS))
		return 0;
	if (ev->prot & PROT_EXEC) {
		r = live_on_made_code(live, process, ev);
		if (r)
			return r;
	}
	if (is_area(live, process, ev))
		return ranges_add(&process->regions.areas, ev->addr, end);
	return emit_region(live, process, ev, FUNCTION_MMAP);
}

/* The data segment has another end. */
static int on_brk(struct live *live, struct live_process *process, const struct abi_ev_map *ev)
{
	if (ev->result < 0)
		return unmap(live, process, ev->addr, ev->addr + ev->len, ev->head.time_ns);
	return emit_region(live, process, ev, FUNCTION_BRK);
}

int live_on_region(struct live *live, const struct abi_ev_map *ev)
{
	struct live_process *process = live_process_at(live, event_slot(&ev->head));

	if (!process || process->placeholder)
		return 0;
	switch (ev->head.type) {
	case ABI_EV_MMAP:
		return on_mmap(live, process, ev);
	case ABI_EV_CODE:
		return ev->flags & MAP_FIXED ? on_mmap(live, process, ev) : 0;
	case ABI_EV_MUNMAP:
	case ABI_EV_MREMAP:
		return on_unmap_entry(process, ev);
	case ABI_EV_UNMAP_RESULT:
		return on_unmap_result(live, process, ev);
	case ABI_EV_BRK:
		return on_brk(live, process, ev);
	}
	return 0;
}

int live_regions_fork(const struct live_process *parent, struct live_process *child)
{
	return ranges_copy(&child->regions.areas, &parent->regions.areas);
}

void live_regions_done(struct live_process *process)
{
	vec_done(&process->regions.pending);
	ranges_done(&process->regions.areas);
}
