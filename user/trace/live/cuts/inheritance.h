/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks forked processes have from their ancestors: those older than the fork, unless an
 * ancestor between had freed its own before.
 */
#ifndef MEMTRACED_TRACE_LIVE_INHERITANCE_H
#define MEMTRACED_TRACE_LIVE_INHERITANCE_H

#include "base/cleanup.h"
#include "trace/live/cuts/block_walk.h"

struct inheritance;

/* Reads what was freed by those that inherited it. `programs` must outlive it. 0 or an errno. */
int inheritance_new(const struct programs *programs, struct inheritance **ret_inheritance);
void inheritance_free(struct inheritance *inheritance); /* NULL is legal */
DEFINE_CLEANUP(struct inheritance, inheritance_free)

/* Did `slot` get, by fork, this block of another process? It may have freed it itself since. */
bool inheritance_got(const struct inheritance *inheritance, __u32 slot,
		     const struct walked_block *block);

/* Has `slot` freed the block that it got? */
bool inheritance_has_freed(const struct inheritance *inheritance, __u32 slot, __u64 block_key);

#endif
