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
struct programs;

/* Reads what was freed by those that inherited it. `live` must outlive it. 0 or an errno. */
int inheritance_new(struct live *live, struct inheritance **ret_inheritance);
void inheritance_free(struct inheritance *inheritance); /* NULL is legal */
DEFINE_CLEANUP(struct inheritance, inheritance_free)

/* Did `slot` get, by fork, this block of another process? It may have freed it itself since. */
bool inheritance_got(const struct inheritance *inheritance, __u32 slot,
		     const struct walked_block *block);

/* Has `slot` freed the block that it got? */
bool inheritance_has_freed(const struct inheritance *inheritance, __u32 slot, __u64 block_key);

/*
 * Whose blocks each forked process may have inherited, by the process that allocated them: so that
 * a block is compared with its owner's descendants and not with every process of the host.
 */
struct descendants;
/* `forked`: n slots, each of which is asked for its ancestors; below n_slots. 0 or -ENOMEM. */
int descendants_new(const struct programs *programs, const uint32_t *forked, size_t n,
		    size_t n_slots, struct descendants **ret_descendants);
void descendants_free(struct descendants *descendants); /* NULL is legal */
DEFINE_CLEANUP(struct descendants, descendants_free)

/* Those of `forked` that descend from this slot, *ret_n of them. */
const uint32_t *descendants_of(const struct descendants *descendants, uint32_t slot, size_t *ret_n);

#endif
