/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting for the programs that run now. The kernel runs each under RCU, also where it can be
 * preempted (kernel/trace/bpf_trace.c: trace_call_bpf, uprobe_prog_run), so that none of them is
 * left when a grace period is over: 7 to 20 ms.
 */
#ifndef MEMTRACED_TRACE_BPF_GRACE_H
#define MEMTRACED_TRACE_BPF_GRACE_H

#include <stdbool.h>

/* Can it be waited for? Not where CPUs run without ticks (nohz_full). */
bool grace_is_offered(void);

/* 0 or negative errno. */
int grace_wait(void);

#endif
