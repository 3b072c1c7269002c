/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process state that memtraced was started with and changes for itself, saved for its child.
 */
#ifndef MEMTRACED_TARGET_LAUNCH_INHERITED_H
#define MEMTRACED_TARGET_LAUNCH_INHERITED_H

#include <signal.h>
#include <sys/resource.h>

/*
 * What a child shall have as memtraced was given it, but memtraced changes for itself: signals
 * (blocked for signalfd, SIGPIPE ignored) and limits (libbpf raises RLIMIT_MEMLOCK).
 */
struct launch_inherited {
	sigset_t mask;
	sigset_t ignored; /* all others are at their default: handlers do not survive an exec */
	struct rlimit limits[RLIM_NLIMITS];
};

/* To be called first thing in main. 0 or negative errno. */
int launch_inherited_save(struct launch_inherited *ret_inherited);

#endif
