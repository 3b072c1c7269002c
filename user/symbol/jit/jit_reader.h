/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has a worker read JIT maps and jitdumps (sandbox/worker.h, symbol/jit/jit_server.h): the daemon
 * itself parses nothing of theirs. One thread.
 */
#ifndef MEMTRACED_SYMBOL_JIT_JIT_READER_H
#define MEMTRACED_SYMBOL_JIT_JIT_READER_H

#include "base/cleanup.h"
#include "symbol/jit/jit_wire.h"
#include "symbol/jit/jitdump.h"

struct worker;

/*
 * A piece of the file: what is in it goes to fn, its strings are the message's. 0, then *ret_head
 * says how it goes on; -EPIPE, -EAGAIN: the worker died of it, or there is none at the moment (as
 * of worker_call); -ENOMEM, or what fn returned.
 */
int jit_read(struct worker *worker, enum jit_request what, int fd, const struct jit_asked *asked,
	     jit_item_fn fn, void *userdata, struct jit_head *ret_head);

/*
 * What a jitdump's code was called when it was loaded, for when it moves. Items come from a process
 * that may lie.
 */
struct jit_loads;

/* 0 or -ENOMEM. */
int jit_loads_new(struct jit_loads **ret_loads);
void jit_loads_free(struct jit_loads *loads); /* NULL is legal */
DEFINE_CLEANUP(struct jit_loads, jit_loads_free)

/*
 * Hands the item to fn, a move with the names and lines of what moves; not a move of what was never
 * loaded, nor code of no or endless size. 0, -E2BIG: more code than any sane program's, -ENOMEM, or
 * what fn returned.
 */
int jit_loads_pass(struct jit_loads *loads, const struct jit_item *item, jit_item_fn fn,
		   void *userdata);

#endif
