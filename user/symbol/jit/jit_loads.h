/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a jitdump's code was called when it was loaded, for when it moves: the daemon's side of
 * symbol/jit/jitdump.h, whose items come from a process that may lie. One thread.
 */
#ifndef MEMTRACED_SYMBOL_JIT_JIT_LOADS_H
#define MEMTRACED_SYMBOL_JIT_JIT_LOADS_H

#include "base/cleanup.h"
#include "symbol/jit/jitdump.h"

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
int jit_loads_take(struct jit_loads *loads, const struct jit_item *item, jit_item_fn fn,
		   void *userdata);

#endif
