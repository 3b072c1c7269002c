/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May a user look at a process? The rule of ptrace(2)'s PTRACE_MODE_READ_FSCREDS for a caller
 * without capabilities in our user namespace, as __ptrace_may_access() in kernel/ptrace.c and
 * cap_ptrace_access_check() in security/commoncap.c have it:
 *
 * 1. The process's real, effective and saved uid are the user's, and so are the three gids the
 *    user's gid. Those of file systems are asked for as well.
 * 2. It is dumpable: prctl(2), PR_SET_DUMPABLE. The kernel takes that from programs that change
 *    their rights, and from those whose file the user may not read (would_dump() in fs/exec.c).
 * 3. In our user namespace it has no permitted capability. In one below, the user made that
 *    namespace, or one around it below ours, and so has all capabilities there.
 *
 * bpf/access.bpf.h has the same for the current process. Any thread.
 */
#ifndef MEMTRACED_TARGET_PROCESS_ACCESS_H
#define MEMTRACED_TARGET_PROCESS_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Real, effective, saved, of file systems; as seen from our user namespace. */
struct process_ids {
	uid_t uids[4];
	gid_t gids[4];
	uint64_t permitted; /* capabilities */
};

/* From the text of /proc/PID/status. 0 or -EBADMSG. */
int process_ids_parse(const char *status, struct process_ids *ret_ids);

/* Point 1. A uid or gid of -1 is of no user or group. */
bool process_ids_are(const struct process_ids *ids, uid_t uid, gid_t gid);

/*
 * 0; -EACCES: this user may not; -ESRCH: there is no such process; or another negative errno: it
 * cannot be told now (-ETIMEDOUT: it let us wait). True of one moment: the process may execute
 * another program, or end, at any time.
 */
int process_access_check(pid_t pid, uid_t uid, gid_t gid);

#endif
