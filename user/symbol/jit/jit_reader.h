/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has a worker read JIT maps and jitdumps (sandbox/worker.h, symbol/jit/jit_server.h): the daemon
 * itself parses nothing of theirs. One thread.
 */
#ifndef MEMTRACED_SYMBOL_JIT_JIT_READER_H
#define MEMTRACED_SYMBOL_JIT_JIT_READER_H

#include "symbol/jit/jit_wire.h"

struct worker;

/*
 * A piece of the file: what is in it goes to fn, its strings are the message's. 0, then *ret_head
 * says how it goes on; -EPIPE, -EAGAIN: the worker died of it, or there is none at the moment (as
 * of worker_call); -ENOMEM, or what fn returned.
 */
int jit_read(struct worker *worker, enum jit_request what, int fd, const struct jit_asked *asked,
	     jit_item_fn fn, void *userdata, struct jit_head *ret_head);

#endif
