/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process all of whose threads are stopped by ptrace, with their registers: a moment in which its
 * memory can be read. It runs on when the stop is freed, and when this process dies, by any death.
 * Calls of the kernel that cannot be begun anew then return EINTR in it (epoll_wait, semop;
 * signal(7)), as they do under a debugger. No part of a stop's wait is consumed, so that a signal
 * on its way to the process is not lost (target/hold/hold.c says how).
 */
#ifndef MEMTRACED_TARGET_HOLD_STOP_H
#define MEMTRACED_TARGET_HOLD_STOP_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stop;

/* As many as arm64 has; on x86-64 the last ones are 0. */
#define STOP_REGISTERS 32
/* In which of them a function is passed its first argument. */
#ifdef __x86_64__
#define STOP_FIRST_ARGUMENT 5
#else
#define STOP_FIRST_ARGUMENT 0
#endif

struct stopped_thread {
	pid_t tid;
	bool stopped;	  /* else it is inside the kernel, from where it returns to its next stop */
	bool has_sp;	  /* false: nothing is known of it */
	bool is_exiting;  /* PTRACE_EVENT_EXIT: it runs no more code of the program */
	int exit_status;  /* of these, as wait(2)'s */
	long system_call; /* in which it is, or was last; -1: unknown or none */
	uint64_t sp;
	uint64_t pc;			    /* 0: unknown */
	uint64_t tls;			    /* the thread pointer: fs base, tpidr_el0; 0: unknown */
	uint64_t registers[STOP_REGISTERS]; /* general ones; those not known are 0 */
};

/*
 * Stops a process that has no tracer. It waits up to `limit_ns` for threads that are inside the
 * kernel. 0; -EBUSY: a debugger has it; -ESRCH; -EPERM; or other negative errno.
 */
int stop_new(pid_t pid, uint64_t limit_ns, struct stop **ret_stop);

/* Lets it run on. NULL is legal. */
void stop_free(struct stop *stop);
DEFINE_CLEANUP(struct stop, stop_free)

/* CLOCK_MONOTONIC ns when the first thread was stopped. */
uint64_t stop_began_ns(const struct stop *stop);

const struct stopped_thread *stop_threads(const struct stop *stop, size_t *ret_n);

/* Threads that run, or may begin to, although the rest is stopped. */
size_t stop_running(const struct stop *stop);

/*
 * For target/hold, on the thread that has seized the process already: it has to let the threads
 * go itself.
 */
int stop_seized(pid_t pid, uint64_t limit_ns, struct stop **ret_stop);

/*
 * Why a thread that we trace ends: it stands at PTRACE_EVENT_EXIT, where ptrace does not say.
 */
enum thread_exit {
	THREAD_EXIT_ALONE,   /* it has called exit(2): the others go on */
	THREAD_EXIT_PROCESS, /* exit_group(2), or a signal */
	THREAD_EXIT_EXEC,    /* another thread executes a new image; also when it cannot be told */
};

/* On the thread that traces. */
enum thread_exit thread_exit_kind(pid_t pid, pid_t tid);

#endif
