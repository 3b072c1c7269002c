/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A seccomp filter for a process that reads what others wrote and writes files itself: it lets pass
 * all that is not named here, where sandbox/confine.h refuses all that is not named there.
 */
#ifndef MEMTRACED_SANDBOX_CONFINE_CALLS_H
#define MEMTRACED_SANDBOX_CONFINE_CALLS_H

#include <stdbool.h>

/*
 * Refuses, with EPERM and for good: executing, new processes, other processes' memory and signals,
 * sockets and code that is not there yet (both unless `network`), typing into the terminal, other
 * identities, owners and modes of files, mounts, namespaces, modules, BPF, and what else only
 * administrators do. 0 or negative errno.
 */
int confine_calls(bool network);

#endif
