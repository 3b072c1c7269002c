/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who wakes the daemon. A record that it shall act upon at once is sent with BPF_RB_FORCE_WAKEUP;
 * others wait for it, or for the daemon's next look (ABI_RING_LOOK_NS), in which all of them cost
 * one wake-up: in a virtual machine an interrupt between CPUs takes 40 us of the traced program's
 * time. The kernel's own choice, waking who has read all that there was, would both wake for each
 * record that comes alone and keep silent about those behind one that waits.
 */
#ifndef MEMTRACED_RING_BPF_H
#define MEMTRACED_RING_BPF_H

#include "maps.bpf.h"

/* What waits in the ring is a fraction of it. */
#define RING_BATCH_SHIFT 16

/* Sends a record that can wait; 0, or the kernel's error when there is no room. */
static __always_inline long ring_send_later(void *record, __u64 size)
{
	__u64 before = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	bool fills = before >> RING_BATCH_SHIFT != (before + size) >> RING_BATCH_SHIFT;

	return bpf_ringbuf_output(&ring, record, size,
				  fills ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* Sends a record that is to be acted upon; 0, or the kernel's error when there is no room. */
static __always_inline long ring_send_now(void *record, __u64 size)
{
	return bpf_ringbuf_output(&ring, record, size, BPF_RB_FORCE_WAKEUP);
}

#endif
