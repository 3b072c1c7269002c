/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs themselves write into the unwinder's tables: where a process has code. They see
 * it first; the daemon sorts it in later (user/trace/unwind/unwind_spaces.h).
 */
#ifndef MEMTRACED_SPACE_BPF_H
#define MEMTRACED_SPACE_BPF_H

#include "old_kernel.bpf.h"
#include "unwind_maps.bpf.h"

#define SPACE_PAGE 4096ULL

/* A struct abi_unwind_space, which is too large for the stack. */
__weak const volatile __u64 empty_space[sizeof(struct abi_unwind_space) / 8] = {};

static __always_inline void space_put(__u32 slot, const void *value)
{
	struct abi_unwind_space *space;

	/* No room: the daemon, which sees the same later, counts it. */
	if (bpf_map_update_elem(&unwind_spaces, &slot, value, BPF_ANY))
		return;
	space = bpf_map_lookup_elem(&unwind_spaces, &slot);
	if (space)
		space->slot = slot;
}

/* After an exec. */
static __always_inline void space_new(__u32 slot)
{
	space_put(slot, (const void *)empty_space);
}

static __always_inline void space_fork(__u32 parent, __u32 child)
{
	struct abi_unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &parent);
	__u64 *from = bpf_map_lookup_elem(&unwind_sorted, &parent);
	__u64 *to = bpf_map_lookup_elem(&unwind_sorted, &child);

	if (!space || !from || !to)
		return;
	/* Before the recent ones: they may only be more than those that are not sorted in. */
	*(volatile __u64 *)to = *(volatile __u64 *)from;
	barrier();
	space_put(child, space);
}

/* Is the room for recent mappings half full? */
static __always_inline bool space_fills(__u32 slot)
{
	struct abi_unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &slot);
	__u64 *sorted = bpf_map_lookup_elem(&unwind_sorted, &slot);

	return space && sorted && ABI_UNWIND_NEWS(*sorted, space->appended) > ABI_UNWIND_RECENT / 2;
}

/* A number for a recent mapping. */
static __always_inline __u32 space_number(struct abi_unwind_space *space)
{
#ifdef OLD_KERNEL
	/* ld.so maps and unmaps under a lock: a second thread at the same moment is no dlopen. */
	__u32 before = *(volatile __u32 *)&space->appended;

	__sync_fetch_and_add(&space->appended, 1);
	return before + 1;
#else
	return __sync_fetch_and_add(&space->appended, 1) + 1;
#endif
}

/* Entries that are looked at, the newest first: as many as a library has that comes and goes. */
#define SUPERSEDING 4

/*
 * Does one of the newest recent mappings decide for all addresses of one that is overwritten? So it
 * is where libraries are loaded and unloaded in turns.
 */
static __always_inline bool space_is_superseded(const struct abi_unwind_space *space, __u32 newest,
						const struct abi_unwind_mapping *old)
{
	const struct abi_unwind_mapping *m;
	__u32 i;

#pragma unroll
	for (i = 0; i < SUPERSEDING; i++) {
		m = &space->recent[(newest - i) % ABI_UNWIND_RECENT];
		if (m->number == newest - i && m->start <= old->start &&
		    m->start + m->len >= old->start + old->len)
			return true;
	}
	return false;
}

/* Room is made in the ring for a number: what is overwritten may not be merged yet. */
static __always_inline void space_lose(struct abi_unwind_space *space, __u64 sorted, __u32 number,
				       const struct abi_unwind_mapping *m)
{
	__u64 start = m->start, end = m->start + m->len;
	__u32 n = space->n_lost, last;

	if (ABI_UNWIND_NEWS(sorted, number) <= ABI_UNWIND_RECENT ||
	    space_is_superseded(space, number - 1, m))
		return;
	/* Is what was lost before still missing? A difference below 0 has the highest bit. */
	if (!space->lost || ABI_UNWIND_NEWS(sorted, space->lost - 1) >= 1 << 23)
		n = 0;
	last = n < ABI_UNWIND_LOST ? n : ABI_UNWIND_LOST - 1;
	barrier_var(last); /* the verifier of 6.1 follows no comparison of what was read */
	last &= ABI_UNWIND_LOST - 1;
	if (n > last) {
		start = start < space->lost_ranges[last].start ? start :
								 space->lost_ranges[last].start;
		end = end > space->lost_ranges[last].end ? end : space->lost_ranges[last].end;
	}
	*(volatile __u64 *)&space->lost_ranges[last].start = start;
	*(volatile __u64 *)&space->lost_ranges[last].end = end;
	*(volatile __u32 *)&space->n_lost = last + 1;
	*(volatile __u32 *)&space->lost = number - ABI_UNWIND_RECENT;
}

/* object 0: no code is there any more. Its number, or 0 when it could not be appended. */
static __always_inline __u32 space_add(__u32 slot, __u64 start, __u64 len, __u32 rel, __u32 object)
{
	struct abi_unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &slot);
	__u64 *sorted = bpf_map_lookup_elem(&unwind_sorted, &slot);
	struct abi_unwind_mapping *m;
	__u32 number;

	if (!space || !sorted || len > ABI_UNWIND_MAX_LEN)
		return 0;
	number = space_number(space);
	m = &space->recent[number % ABI_UNWIND_RECENT];
	space_lose(space, *(volatile __u64 *)sorted, number, m);
	barrier();
	/* x86-64 keeps the order of stores; the compiler is told to. */
	*(volatile __u32 *)&m->number = 0;
	barrier();
	m->start = start;
	m->len = (len + SPACE_PAGE - 1) & ~(SPACE_PAGE - 1);
	m->rel = rel;
	m->object = object;
	barrier();
	*(volatile __u32 *)&m->number = number;
	return number;
}

/* A mapping of an object's file from `offset` on. */
static __always_inline __u32 space_add_code(__u32 slot, __u32 object, __u64 start, __u64 len,
					    __u64 offset)
{
	const struct abi_unwind_object *o = bpf_map_lookup_elem(&unwind_objects, &object);
	__u32 i;

	if (!o)
		return 0;
	/* ABI_UNWIND_SEGMENTS rounds */
	for (i = 0; i < ABI_UNWIND_SEGMENTS; i++) {
		const struct abi_unwind_segment *s = &o->segment[i];

		/* mmap begins with whole pages, segments anywhere in them */
		if (offset < (s->offset & ~(SPACE_PAGE - 1)) || offset >= s->end)
			continue;
		return space_add(slot, start, len, s->rel + (__u32)(offset - s->offset), object);
	}
	return 0;
}

#endif
