/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/slots/slot.h"

#include "trace/kernel/urgent.h"

/* A program that has looked up a slot has long returned by then. */
#define REST_NS 100000000ULL

int slot_quarantine_add(struct slot_quarantine *quarantine, slot_t slot)
{
	return vec_push(&quarantine->lists[quarantine->added], slot);
}

int slot_quarantine_release(struct slot_quarantine *quarantine, int free_slots_fd, uint64_t now_ns)
{
	typeof(&quarantine->lists[0]) resting = &quarantine->lists[!quarantine->added];

	if (now_ns < quarantine->until_ns)
		return 0;
	while (resting->len) {
		int r = urgent_update(free_slots_fd, NULL, &resting->data[resting->len - 1]);

		if (r)
			return r;
		resting->len--;
	}
	if (quarantine->lists[quarantine->added].len) {
		quarantine->added = !quarantine->added;
		quarantine->until_ns = now_ns + REST_NS;
	}
	return 0;
}

void slot_quarantine_done(struct slot_quarantine *quarantine)
{
	vec_done(&quarantine->lists[0]);
	vec_done(&quarantine->lists[1]);
}
