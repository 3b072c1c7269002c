/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks that glibc keeps for threads to come, by its own list of them (from 2.34 on; not in
 * programs that are linked statically). For leak checks of a process whose threads are stopped.
 */
#ifndef MEMTRACED_TARGET_GLIBC_GLIBC_THREADS_H
#define MEMTRACED_TARGET_GLIBC_GLIBC_THREADS_H

#include "base/vec.h"

#include <stdint.h>

struct memory;

struct glibc_kept_stack {
	uint64_t start, end;
	uint64_t vector; /* of the thread-local storage that goes with it (DTV); 0: none */
};

struct glibc_kept_stacks {
	VEC(struct glibc_kept_stack) list;
};

/*
 * By the descriptor of any thread that lives, whose thread pointer is `tls`. 0, -ENOENT when it
 * leads to no such list, or -ENOMEM. The list is the caller's (vec_done), with 0 alone.
 */
int glibc_kept_stacks_find(const struct memory *memory, uint64_t tls,
			   struct glibc_kept_stacks *ret_stacks);

#endif
