/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closes the descriptors of BPF links, several at a time. The kernel waits for grace periods in
 * each close: 40 to 80 ms a link (Linux 6.18), which overlap when threads wait for them together.
 */
#ifndef MEMTRACED_TRACE_LINK_CLOSER_H
#define MEMTRACED_TRACE_LINK_CLOSER_H

#include "base/cleanup.h"

#include <stddef.h>

struct link_closer;

/*
 * Begins to close n descriptors, which belong to the closer from now on, also when it fails: then
 * they are closed already. 0 or -ENOMEM.
 */
int link_closer_new(const int *fds, size_t n, struct link_closer **ret_closer);
/* Returns when all are closed. NULL is legal. */
void link_closer_free(struct link_closer *closer);
DEFINE_CLEANUP(struct link_closer, link_closer_free)

/* Closes all and waits for it. */
void links_close(const int *fds, size_t n);

#endif
