/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts the command of -c, with the identity, environment and terminal that DESIGN.md section 2
 * promises, and keeps it waiting right before its exec until it is released. A child that waits
 * ends by itself when memtraced dies, by any death.
 */
#ifndef MEMTRACED_TARGET_LAUNCH_LAUNCH_H
#define MEMTRACED_TARGET_LAUNCH_LAUNCH_H

#include "base/cleanup.h"
#include "target/identity.h" /* invoking_user */
#include "target/launch/launch_child.h"

#include <stdbool.h>
#include <sys/types.h>

struct launch_opts {
	char *const *argv;	    /* NULL-terminated; argv[0] is looked up in the child's PATH */
	const char *run_as;	    /* user name or uid of --run-as, NULL: the invoking user */
	const char *const *env_set; /* "N=V" of --env, NULL-terminated, may be NULL */
	bool stdout_to_stderr;	    /* the report owns stdout */
	const struct launch_inherited *inherited; /* NULL: as it is now */
};

struct launch;

/*
 * A terminal of the command's own (target/launch/launch_child.h), which the caller has to join to
 * memtraced's. The descriptors are the launch's, and non-blocking but for `control`.
 */
struct launch_pty {
	int outer, master;
	int control; /* target/launch/terminal_keeper.h: orders to it, signals from it */
	pid_t job;   /* the command's process group */
};

/*
 * Forks the child, which takes on its identity (the invoking user's uid, gid and groups under sudo:
 * SUDO_UID, SUDO_GID) and environment (HOME, USER, LOGNAME, SHELL of that user; LD_PRELOAD and the
 * like are passed on untouched; sudo's own SUDO_* variables stay as sudo set them), keeps terminal,
 * process group (both unless there is a launch_pty), signal dispositions and mask as memtraced was
 * given them, and waits. The child itself, as the user that it became, has then looked for the
 * command. 0 or negative errno;
 * -ENOENT: no such command; -EACCES: not executable; -ENODATA: no such user; -EPERM: another user
 * than the caller, who is not root; -EINVAL: a string of env_set is no assignment.
 */
int launch_new(const struct launch_opts *opts, struct launch **ret_launch);

pid_t launch_pid(const struct launch *launch);

/* NULL: the command has memtraced's terminal, or there is none. */
const struct launch_pty *launch_pty(const struct launch *launch);
/*
 * Ends memtraced's part in it: the keeper goes on alone. Descriptors are -1 and the job is 0 then,
 * also in what launch_pty has returned.
 */
void launch_close_pty(struct launch *launch);

/*
 * Continues the command (SIGCONT) if it has left the job's process group, as an interactive shell
 * does: orders to the keeper do not reach it.
 */
void launch_continue(const struct launch *launch);

/* Lets the child exec. Call after target/hold has seized it. 0; -ESRCH when it has died. */
int launch_release(struct launch *launch);

/*
 * The errno of a failed exec as a negative number once the child has reported it (it then exits
 * with 127), 0 when the exec succeeded or a signal killed the child before, -EINPROGRESS before
 * either (does not block).
 */
int launch_exec_result(struct launch *launch);

/* What the command finds in its environment: of env_set the last word, else ours; NULL: nothing. */
const char *launch_value(const char *const *env_set, const char *name);

/* A child that was never released is killed and reaped; a running one is left alone. NULL is legal.
 */
void launch_free(struct launch *launch);
DEFINE_CLEANUP(struct launch, launch_free)

#endif
