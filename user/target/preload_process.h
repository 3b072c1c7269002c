/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our library in the environment of a process that stands at its exec, before its dynamic linker
 * has looked there. Needs PTRACE_MODE_ATTACH; any thread.
 */
#ifndef MEMTRACED_TARGET_PRELOAD_PROCESS_H
#define MEMTRACED_TARGET_PRELOAD_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Can the process open the library by this path: is it the same file in its root, and may its user
 * read it? Where that is not certain (by supplementary groups alone), false; and where its system
 * calls are filtered (seccomp(2)), as one of the library's may end it. library_fd: open.
 */
bool preload_is_usable(pid_t pid, const char *library, int library_fd);

/*
 * Takes the library out of the process's LD_PRELOAD; what else is there stays. 1: it was there; 0;
 * or negative errno.
 */
int preload_withdraw(pid_t pid, const char *library);

/* The new text of LD_PRELOAD's value, in place; false: the library is not in it. Pure. */
bool preload_drop(char *value, const char *library);

#endif
