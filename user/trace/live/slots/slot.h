/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MEMTRACED_TRACE_LIVE_SLOT_H
#define MEMTRACED_TRACE_LIVE_SLOT_H

#include "base/vec.h"
#include "trace/record/image.h"

#include <stdint.h>

/* Where a process is in the programs' tables; when its image is over, another may be there. */
typedef struct {
	uint32_t n;
} slot_t;

/*
 * Slots of processes that have ended, which programs in flight may still know: they can be used
 * again after a while. All zero: empty.
 */
struct slot_quarantine {
	VEC(slot_t) lists[2]; /* those that were added, and those that rest until until_ns */
	unsigned int added;   /* index of the former */
	uint64_t until_ns;
};

/* 0 or -ENOMEM. */
int slot_quarantine_add(struct slot_quarantine *quarantine, slot_t slot);

/*
 * Those that have rested long enough go into the queue map of free slots, each once. now_ns:
 * CLOCK_MONOTONIC. 0 or negative errno: those that are left follow with the next call.
 */
int slot_quarantine_release(struct slot_quarantine *quarantine, int free_slots_fd, uint64_t now_ns);

void slot_quarantine_done(struct slot_quarantine *quarantine);

#endif
