/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks from before the attach (--existing): a process that is counted already is stopped, what
 * it holds in glibc's heap is read (target/glibc/glibc_heap.h), and what is not known from tracing
 * is put into the kernel's books, where frees find it. All of it is one site without a stack,
 * whose sizes are usable ones. Live source's thread.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_EXISTING_H
#define MEMTRACED_TRACE_LIVE_LIVE_EXISTING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct live;

struct live_existing {
	uint64_t stop_ns; /* the last stop: how long it took */
	uint64_t stops;	  /* before it, a thread was inside the allocator each time */
	uint64_t blocks, bytes;
	size_t arenas; /* 0: the process has no glibc whose malloc it used */
	/* What makes that inexact; all of them are 0 if it is not. */
	uint64_t unread_bytes; /* of the heap, and not understood */
	uint64_t uncertain; /* threads inside the allocator, lists in between, caches not found */
	uint64_t no_room;   /* blocks */
};

/*
 * After live_add_process(). All stops together take at most max_stop_ns and what inserting takes.
 * 0 or negative errno: -EBUSY: a debugger has the process; -ESRCH: it is gone.
 */
int live_add_existing(struct live *live, pid_t pid, uint64_t max_stop_ns,
		      struct live_existing *ret_result);

#endif
