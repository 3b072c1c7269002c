/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads files that are traced for the daemon (probe/object_reader.h), in a process that may die of
 * them. Keeps nothing between requests.
 */
#ifndef MEMTRACED_PROBE_OBJECT_SERVER_H
#define MEMTRACED_PROBE_OBJECT_SERVER_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Is it a request of probe/object_wire.h? */
bool object_server_knows(const struct strbuf *request);

/* As of struct worker_ops. */
int object_serve(const struct strbuf *request, const int *fds, size_t n_fds, struct strbuf *answer);

#endif
