/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a thread that we trace ends: it stands at PTRACE_EVENT_EXIT, where ptrace does not say.
 */
#ifndef MEMTRACED_TARGET_THREAD_EXIT_H
#define MEMTRACED_TARGET_THREAD_EXIT_H

#include <sys/types.h>

enum thread_exit {
	THREAD_EXIT_ALONE,   /* it has called exit(2): the others go on */
	THREAD_EXIT_PROCESS, /* exit_group(2), or a signal */
	THREAD_EXIT_EXEC,    /* another thread executes a new image; also when it cannot be told */
};

/* On the thread that traces. */
enum thread_exit thread_exit_kind(pid_t pid, pid_t tid);

#endif
