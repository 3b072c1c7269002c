/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The child's side of target/launch, from fork to exec. memtraced may have threads, so that only
 * what signal-safety(7) allows may be done here: everything is prepared before the fork.
 */
#ifndef MEMTRACED_TARGET_LAUNCH_CHILD_H
#define MEMTRACED_TARGET_LAUNCH_CHILD_H

#include "target/identity.h"
#include "target/launch_inherited.h"
#include "target/launch_terminal.h"

#include <stdbool.h>

struct launch_child {
	char *const *argv;
	char **environment;
	const struct identity *identity;
	const struct launch_inherited *inherited;
	const struct launch_terminal *terminal; /* whose slave becomes standard streams */
	bool stdout_to_stderr;
	int socket; /* SOCK_SEQPACKET: one int a message, see below; closed by the exec */
	int parent_socket;
};

/*
 * Sends 0 when ready or an errno, waits for one message, execs; sends the errno of a failed exec.
 * Called with all signals blocked.
 */
_Noreturn void launch_child_run(const struct launch_child *child);

#endif
