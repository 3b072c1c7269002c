/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An epoll loop: file descriptors, timers and signals call back into their owner, all from the
 * thread that runs loop_run_once. One loop a thread.
 */
#ifndef MEMTRACED_BASE_LOOP_H
#define MEMTRACED_BASE_LOOP_H

#include "base/cleanup.h"

#include <signal.h>
#include <stdint.h>

struct loop;
struct loop_source;

/* A negative return value ends loop_run_once with it. */
typedef int (*loop_fd_fn)(int fd, uint32_t epoll_events, void *userdata);
typedef int (*loop_timer_fn)(void *userdata);
typedef int (*loop_signal_fn)(const siginfo_t *info, void *userdata);

int loop_new(struct loop **ret_loop);
/* Frees the loop and all its sources. NULL is legal. */
void loop_free(struct loop *loop);
DEFINE_CLEANUP(struct loop, loop_free)

/*
 * Calls fn when `fd` is ready for `epoll_events` (level-triggered). The descriptor stays the
 * caller's, who closes it only after loop_source_free. ret_source may be NULL here and for a timer:
 * the source then lives as long as the loop. 0 or negative errno; -EPERM: a regular file.
 */
int loop_add_fd(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_fn fn, void *userdata,
		struct loop_source **ret_source);
/* Calls fn every interval_ns (> 0), first after one interval; intervals missed are not made up. */
int loop_add_timer(struct loop *loop, uint64_t interval_ns, loop_timer_fn fn, void *userdata,
		   struct loop_source **ret_source);
/*
 * Blocks the signal for the calling thread and delivers it by signalfd; siginfo fields si_signo,
 * si_pid, si_uid, si_code, and for SIGCHLD si_status are filled. loop_free drops what is pending
 * and unblocks it again, if it was not blocked before. -EEXIST: the loop has this signal already.
 */
int loop_add_signal(struct loop *loop, int signo, loop_signal_fn fn, void *userdata);
/* For a source of loop_add_fd: what it waits for from now on; errors and hang-ups always. */
int loop_source_wait_for(struct loop_source *source, uint32_t epoll_events);
/* Stops and frees one source; may be called from its own callback. NULL is legal. */
void loop_source_free(struct loop_source *source);

/*
 * Readable when loop_run_once(loop, 0) has something to run: one loop may be a source of another.
 * Belongs to the loop.
 */
int loop_fd(const struct loop *loop);

/*
 * Has the calling thread, whose loop it is, run before others that want the CPU as well, as far as
 * that is permitted (CAP_SYS_NICE): what it answers is not to wait for a host that is busy. A
 * thread that it creates calls loop_lower_priority() and is as the caller was before.
 */
void loop_raise_priority(struct loop *loop);
void loop_lower_priority(const struct loop *loop);

/*
 * Waits up to timeout_ms (-1: without limit) and runs what is ready. 0 or negative errno. Not to be
 * called from a callback.
 */
int loop_run_once(struct loop *loop, int timeout_ms);

#endif
