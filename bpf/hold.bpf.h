/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that must wait for the daemon: it gets the signal by which target/hold/hold.h knows it.
 * To be sent before the ring's record that says why, which the daemon's answer must not overtake.
 */
#ifndef MEMTRACED_HOLD_BPF_H
#define MEMTRACED_HOLD_BPF_H

#include <bpf/bpf_helpers.h>

enum { SIGNAL_HOLD = 23 /* SIGURG */ };

/* Of the current thread; false: the kernel refuses. */
static __always_inline bool hold_thread(void)
{
	return bpf_send_signal_thread(SIGNAL_HOLD) == 0;
}

#endif
