/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads JIT maps and jitdumps for the daemon (symbol/jit/jit_reader.h), in a process that may
 * die of them. Keeps nothing between requests.
 */
#ifndef MEMTRACED_SYMBOL_JIT_JIT_SERVER_H
#define MEMTRACED_SYMBOL_JIT_JIT_SERVER_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

/* Is it a request of symbol/jit/jit_wire.h? */
bool jit_server_knows(const struct strbuf *request);

/* As of struct worker_ops. */
int jit_serve(const struct strbuf *request, const int *fds, size_t n_fds, struct strbuf *answer);

#endif
