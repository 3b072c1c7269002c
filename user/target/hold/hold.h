/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one module that stops processes (DESIGN.md section 9): PTRACE_SEIZE without EXITKILL, so that
 * the death of the daemon, however it comes, lets everything go on. Children and threads of a held
 * process are seized by the kernel at birth. ptrace binds to a thread, so each hold has one of its
 * own. Not thread-safe: one caller at a time.
 */
#ifndef MEMTRACED_TARGET_HOLD_HOLD_H
#define MEMTRACED_TARGET_HOLD_HOLD_H

#include "base/cleanup.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hold;
struct stop;

enum hold_event_type {
	HOLD_EXEC, /* a new image, stopped before its first instruction; tid is the leader now */
	HOLD_FORK, /* a child process (fork, vfork, posix_spawn, clone) at its first instruction */
	HOLD_MARK, /* a thread stopped by a HOLD_SIGNAL of the kernel's: perhaps BPF's mark */
	/*
	 * A process is about to end, and its memory and threads are still there: one of them is
	 * stopped, hold_stop stops the others. Once for each that hold_watch_exits asked for.
	 */
	HOLD_EXITING,
	HOLD_EXITED,  /* a process (its last thread) ended, and was reaped; status as wait(2)'s */
	HOLD_STOPPED, /* job control has stopped a process; status is the signal */
	HOLD_THREAD,  /* a process has begun a thread, `number`; of what hold_tell_threads says */
};

struct hold_event {
	enum hold_event_type type;
	pid_t pid;     /* thread group */
	pid_t tid;     /* thread concerned */
	pid_t old_tid; /* HOLD_EXEC: the tid of the caller, another than tid if not the leader */
	pid_t parent;  /* HOLD_FORK, HOLD_EXITED: thread group of the parent at birth, 0: seized */
	int status;    /* HOLD_EXITED, HOLD_STOPPED */
	uint32_t number; /* HOLD_THREAD: from 2 on, as they began; the first thread is 1 */
};

/*
 * The signal by which BPF marks a thread that must wait: ignored by default, harmless when it is
 * delivered because the daemon died. bpf_send_signal's siginfo (SI_KERNEL, no pid) is the same as
 * that of a socket with urgent data: only who asked for the mark can tell them apart.
 */
#define HOLD_SIGNAL SIGURG

/*
 * Called for each event, on the hold's thread, while the caller of hold_dispatch waits. The
 * tracee's thread stays stopped until the callback returns (HOLD_EXITED: there is none any more);
 * all else (signals, job control, thread births) is passed on as without a tracer. A negative
 * return value ends hold_dispatch with it, after the thread was let go. For HOLD_MARK, a positive
 * value says "this was mine": the signal is suppressed; 0 "not mine": the program gets it. For
 * HOLD_FORK and HOLD_EXEC, a positive value says "not wanted": the process is let go, and neither
 * it nor what it starts is heard of again.
 */
typedef int (*hold_fn)(const struct hold_event *event, void *userdata);

/*
 * Sets the process's SIGCHLD to its default action if it was ignored (as memtraced may have been
 * started): the kernel tells of stops only then. 0 or negative errno.
 */
int hold_new(hold_fn fn, void *userdata, struct hold **ret_hold);
/* Detaches from everything, which runs on. Not from a callback. NULL is legal. */
void hold_free(struct hold *hold);
DEFINE_CLEANUP(struct hold, hold_free)

/*
 * Seizes a child of ours that waits before its exec (target/launch), and all that it starts.
 * 0; -EPERM when a debugger or LSM forbids; -ESRCH when it has ended.
 */
int hold_seize_child(struct hold *hold, pid_t pid);

/*
 * Seizes a running process with all its threads, and all that it starts from now on; it runs on.
 * 0; -EBUSY: a debugger has it; -EPERM: an LSM forbids; -ESRCH.
 */
int hold_seize_running(struct hold *hold, pid_t pid);

/* Is the process held? */
bool hold_has(const struct hold *hold, pid_t pid);

enum hold_exits {
	HOLD_EXITS_NONE,
	/*
	 * What is seized from now on, not what is born to it, whose threads may be many: each end
	 * costs a stop. Of a program whose main thread ends first nothing is told.
	 */
	HOLD_EXITS_SEIZED,
	HOLD_EXITS_ALL, /* and what is born to it */
};

/* From now on there are HOLD_THREADs. Threads of what was running when it was seized have none. */
void hold_tell_threads(struct hold *hold);

/* Which of them tell of HOLD_EXITING; none does before. */
void hold_watch_exits(struct hold *hold, enum hold_exits exits);

/*
 * Stops all threads of a held process (target/hold/stop.h). They run on after stop_free, as soon as
 * hold_go_on or hold_dispatch is called or the callback returns that this was called from. 0 or
 * negative errno.
 */
int hold_stop(struct hold *hold, pid_t pid, uint64_t limit_ns, struct stop **ret_stop);

/*
 * The threads of a held process that hold_stop has stopped run on at once, before what else has
 * stopped some is dispatched. After stop_free, and not from a callback.
 */
void hold_go_on(struct hold *hold, pid_t pid);

/*
 * Handles all stops that are there now, without blocking. Call when SIGCHLD arrives. After many
 * stops in one call it raises SIGCHLD once more and returns, so that others get their turn. 0, or
 * the negative value that a callback returned, or -ENOMEM; call again then, too.
 */
int hold_dispatch(struct hold *hold);

/* Number of HOLD_SIGNALs that were passed on to the program: sent by others, or marks that the
 * callback did not take for its own. */
uint64_t hold_signals_passed(const struct hold *hold);

/* Number of threads that are seized now. */
size_t hold_threads(const struct hold *hold);

#endif
