/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memtraced-open: processes that open and read for us what another process can make hang for ever,
 * in the kernel, where no signal but SIGKILL, or not even that, ends the wait: files of servers
 * (NFS, FUSE), and files of /proc/PID for which that process's mmap_lock is needed, or for which
 * the kernel checks access as ptrace(2) does (stat, exe, root, fd and more), as it waits then for
 * the end of an exec, which closes files. They answer by a deadline; one that does not is killed
 * and forgotten, what it hung on is refused for a while.
 * The process that forks them is started again when it was killed (sandbox/forker.h).
 *
 * There is one pool for all threads, begun by main() before there are any; where there is none (in
 * unit tests) nothing is watched over. All functions but the first two: any thread.
 */
#ifndef MEMTRACED_TARGET_FILE_HELPER_H
#define MEMTRACED_TARGET_FILE_HELPER_H

#include "base/strbuf.h"
#include "target/file_helper_process.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Forks the process that forks the others; the caller has one thread. role: what main() calls it by
 * when it was killed, NULL: then it stays away. 0 or negative errno.
 */
int file_helper_begin(const char *role, file_helper_open_fn open_fn);
/* They end; nothing is waited for. */
void file_helper_end(void);
/* The process that forks the others; 0: there is none. */
pid_t file_helper_pid(void);
/* How often it was started in place of one that was killed. */
unsigned int file_helper_restarts(void);

/* CPU time that helpers have used for the calling thread so far. */
uint64_t file_helper_cpu_ns(void);

/* Others wait for the calling thread, as for a service's loop: it gives up earlier. */
void file_helper_hurry(void);
/* What made it wait is over: it is asked again. */
void file_helper_exec_is_over(pid_t pid);

/*
 * Appends the text of /proc/PID/NAME: "maps", "smaps", "smaps_rollup", "cmdline". 0 or negative
 * errno; -ESRCH when the process is gone, -EFBIG behind the first max_bytes or more when there are
 * more, -ETIMEDOUT when it let us wait.
 */
int file_helper_read(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text);
/* The same of a thread itself, also when it has ended before others: "stat", "auxv". */
int file_helper_read_thread(pid_t tid, const char *name, size_t max_bytes, struct strbuf *text);

/* The same of what the link /proc/PID/NAME leads to: "map_files/START-END". */
int file_helper_read_link(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text);

/* proc_file_open() there: "root", "exe", "ns/user". Also -ETIMEDOUT. */
int file_helper_open_proc(pid_t pid, const char *name, int flags);

/* With a pid: all that is looked for in the root of that process, of whatever servers it is. */
#define FILE_HELPER_OF_ROOT (UINT64_C(1) << 61)

/*
 * Has open_fn() called there, and what it opened read. fd: as there. of: what is refused when that
 * hangs, a device or FILE_HELPER_OF_ROOT. A descriptor or negative errno: also -ETIMEDOUT; -ENOSYS:
 * there is no pool, the caller does it.
 */
int file_helper_open(uint64_t of, const struct strbuf *request, int fd);

#endif
