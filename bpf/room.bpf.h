/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one process may take of the maps that all share: so much of what is free as leaves room for
 * others however many want all (dynamic thresholds: Choudhury and Hahne, IEEE/ACM ToN 6, 1998).
 * Asked and counted where something new goes into a hash map, never for what is there. Two CPUs
 * that ask at once may both be told that there is room for one.
 */
#ifndef MEMTRACED_ROOM_BPF_H
#define MEMTRACED_ROOM_BPF_H

#include "knobs.bpf.h"
#include "maps.bpf.h"

#define EEXIST 17
#define ENOSPC 28

/* NULL: it has no slot, as the kernel has none. */
static __always_inline struct abi_room *room_of(__u32 slot)
{
	return bpf_map_lookup_elem(&rooms, &slot);
}

/* May one who has `own` of the `all` that are taken have one more, up to `times` what is free? */
static __always_inline bool room_left(__s32 own, __s32 all, __u32 room, __s64 times)
{
	return own < ((__s64)room - all) * times;
}

/* For a stack that is not there; the kernel's are few, and of no process. */
static __always_inline bool room_for_stack(const struct abi_room *own)
{
	return !own ||
	       (room_left(own->stacks, room_of_all.stacks, control.stack_room, ABI_ROOM_TIMES) &&
		room_left(own->sites, room_of_all.sites, knob_site_room, ABI_ROOM_TIMES));
}

/* `times`: ABI_ROOM_TIMES, or for what nothing else can stand for ABI_ROOM_TIMES_AT_LAST. */
static __always_inline bool room_for_site(const struct abi_room *own, __u32 times)
{
	return !own || room_left(own->sites, room_of_all.sites, knob_site_room, times);
}

/* For a block that its bucket has no way for. */
static __always_inline bool room_for_block(const struct abi_room *own)
{
	return !own ||
	       room_left(own->spilled, room_of_all.spilled, knob_spill_room, ABI_ROOM_TIMES);
}

#define ROOM_COUNT(own, what, by)                                                                  \
	do {                                                                                       \
		if (own) {                                                                         \
			__sync_fetch_and_add(&room_of_all.what, by);                               \
			__sync_fetch_and_add(&(own)->what, by);                                    \
		}                                                                                  \
	} while (0)

#endif
