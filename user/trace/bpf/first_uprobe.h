/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's first change of uprobes waits for a grace period of RCU, 10 to 16 ms (rcu_sync_enter
 * for dup_mmap_sem in kernel/events/uprobes.c); one that begins before the next one is over does
 * not. So a thread waits on a file of our own while the target starts and its files are read, and
 * who probes these finds it done. Any thread; it is an improvement, which may fail.
 */
#ifndef MEMTRACED_TRACE_BPF_FIRST_UPROBE_H
#define MEMTRACED_TRACE_BPF_FIRST_UPROBE_H

#include "base/cleanup.h"

#include <stdbool.h>

struct first_uprobe;

/*
 * link_home: trace/bpf/link_home.h, where the link stays until that is closed. multi: uprobe-multi
 * links are to be had, else perf events are taken. 0 or negative errno.
 */
int first_uprobe_new(int link_home, bool multi, struct first_uprobe **ret_uprobe);
/* Waits for the thread's end; NULL is legal. */
void first_uprobe_free(struct first_uprobe *uprobe);
DEFINE_CLEANUP(struct first_uprobe, first_uprobe_free)

#endif
