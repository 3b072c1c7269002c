/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker's side of the symbolizer: reads ELF and DWARF, demangles. Requests are as
 * symbol/symbol_wire.h says.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOL_SERVER_H
#define MEMTRACED_SYMBOL_SYMBOL_SERVER_H

#include "sandbox/worker_ops.h"

extern const struct worker_ops symbol_server;

/*
 * All that a worker (sandbox/worker.h) reads for the daemon of files that others wrote: symbols,
 * what run-times say of their code (symbol/jit/jit_server.h), and what tracing must know
 * (probe/object_server.h).
 */
extern const struct worker_ops file_server;

#endif
