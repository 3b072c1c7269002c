/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc says about one process. Every call reads anew and copes with the process ending
 * meanwhile (-ESRCH).
 */
#ifndef MEMTRACED_TARGET_PROCESS_H
#define MEMTRACED_TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_info {
	pid_t pid, ppid;
	pid_t tracer;	     /* thread that traces it; 0: none */
	uid_t real_uid, uid; /* uid: the effective one, as is gid */
	gid_t gid;
	char comm[16];
	bool thread_ended; /* the thread of this id; others of the process may go on */
	bool zombie;	   /* so did all others */
	bool kernel_thread;
	bool has_reaped;      /* it has waited for a child, ever */
	int seccomp;	      /* 0 none, 1 strict, 2 filter; 0 on kernels without seccomp */
	uint64_t start_ticks; /* starttime of /proc/PID/stat: tells a reused pid apart */
	uint64_t rss_bytes;   /* as statm_rss(); 0: a kernel thread or a zombie */
	bool is_64bit;	      /* its executable's ELF class; false when that is not known */
	int exe_error;	      /* why it is not known, negative errno; 0: it is */
};

/* `pid` may also be a thread's id; comm, thread_ended and start_ticks are then the thread's. */
int process_info_read(pid_t pid, struct process_info *ret_info);

/*
 * One read, for who asks many often: /proc/PID/stat alone, by which comm, zombie, kernel_thread,
 * ppid, has_reaped, start_ticks and rss_bytes are filled.
 */
int process_stat_read(pid_t pid, struct process_info *ret_info);

/*
 * The same by /proc/PID/status, which waits for nothing, as stat does: ppid, tracer, uids, gid,
 * seccomp, thread_ended and zombie.
 */
int process_status_read(pid_t pid, struct process_info *ret_info);

/* The process's name as /proc/PID/comm has it, at most 15 bytes and a NUL. */
int process_comm(pid_t pid, char ret_comm[16]);

/*
 * The most that the process's image had resident so far, as the kernel has noted (VmHWM of
 * /proc/PID/status). -ESRCH or -ENOENT when it has ended.
 */
int process_peak_rss(pid_t pid, uint64_t *ret_bytes);

/*
 * The executable's path as the target sees it (in its own root), without " (deleted)"; malloc'ed in
 * *ret_exe. -ENOENT for kernel threads and zombies.
 */
int process_exe(pid_t pid, char **ret_exe);

/*
 * The command line as the process shows it now (it may have written over it), its words quoted for
 * a shell; malloc'ed in *ret_command. Of more than 4 KiB the first, with "..." behind. -ENOENT for
 * kernel threads, zombies and who has emptied it, -ESRCH when it is gone.
 */
int process_command(pid_t pid, char **ret_command);

/*
 * What the kernel told the program when it began, by its type AT_* of getauxval(3). -ENODATA:
 * nothing of that type, or it has 32 bits.
 */
int process_auxval(pid_t pid, uint64_t type, uint64_t *ret_value);

/* Has it been given this variable, "NAME=VALUE", when its program began? False if not known. */
bool process_was_given(pid_t pid, const char *variable);

/*
 * Thread ids; malloc'ed array. Threads that are born while it is read may be missing: read again
 * until nothing is new.
 */
int process_threads(pid_t pid, pid_t **ret_tids, size_t *ret_n);

/* Is it one? A thread that is traced or stopped has its id until it is let go. */
bool process_has_thread(pid_t pid, pid_t tid);

/* Thread group of a thread, or negative errno. */
pid_t process_of_thread(pid_t tid);

/* The two parsers of the above, for text of /proc/PID/stat and /proc/PID/status. 0 or -EBADMSG. */
int process_parse_stat(const char *text, struct process_info *info);
/* Where the field of this number begins (proc_pid_stat(5)), from 3 on; NULL: there are fewer. */
const char *process_stat_field(const char *text, int number);
int process_parse_status(const char *text, struct process_info *info, pid_t *ret_tgid);

/*
 * How much memory a process has resident, by /proc/PID/statm: one short read, so it can be asked
 * for often. The kernel's counts are those of its threads summed up lazily (proc(5)): off by up to
 * 64 pages a thread. 0, or negative errno: -ESRCH or -ENOENT when it has ended.
 */
int statm_rss(pid_t pid, uint64_t *ret_bytes);

#endif
