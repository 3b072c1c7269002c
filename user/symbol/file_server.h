/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that a worker (sandbox/worker.h) reads for the daemon of files that others wrote: symbols
 * (symbol/symbol_server.h), what run-times say of their code (symbol/jit/jit_server.h), and what
 * tracing must know (probe/object_server.h).
 */
#ifndef MEMTRACED_SYMBOL_FILE_SERVER_H
#define MEMTRACED_SYMBOL_FILE_SERVER_H

#include "sandbox/worker_ops.h"

extern const struct worker_ops file_server;

#endif
