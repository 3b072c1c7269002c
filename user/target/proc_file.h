/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens and reads the files of /proc/PID: one place that knows that the process may end meanwhile.
 */
#ifndef MEMTRACED_TARGET_PROC_FILE_H
#define MEMTRACED_TARGET_PROC_FILE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The thread by which /proc knows the memory, files and root of a process: its first one, or, when
 * that one has ended before others (pthread_exit(3) in main), one of these.
 */
pid_t proc_living_thread(pid_t pid);

/* Also when there is none; not when that cannot be told. */
bool proc_thread_has_ended(pid_t tid);

/* open(2) of /proc/PID/NAME with O_CLOEXEC: a descriptor or negative errno. */
int proc_file_open(pid_t pid, const char *name, int flags);

/*
 * Appends the whole file to `text`. 0 or negative errno; -ESRCH when the process is gone, -EFBIG
 * when there are more than max_bytes.
 */
int proc_file_read(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text);

/* What the link /proc/PID/NAME leads to, whole. 0 or negative errno; -EFBIG as above. */
int proc_link_read(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text);

/* As proc_file_read() of /proc/kallsyms, which is no process's. */
int proc_kallsyms_read(size_t max_bytes, struct strbuf *text);

#endif
