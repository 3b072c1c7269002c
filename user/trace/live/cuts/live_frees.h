/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the blocks of sites are freed (--free-stacks), as the programs have counted it
 * (bpf/free_pair.bpf.h), for a cut. Not thread-safe.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_FREES_H
#define MEMTRACED_TRACE_LIVE_LIVE_FREES_H

#include "base/vec.h"
#include "bpf/abi_free_pair.h"

#include <stdbool.h>

struct live;
struct live_process;

struct live_free {
	struct abi_free_key key;
	struct abi_free_pair value;
};

struct live_frees {
	VEC(struct live_free) all; /* by image */
};

/*
 * All that there are now, none where nobody asked. What is freed while a cut is read may be in it.
 * 0 or negative errno; to be released in both cases.
 */
int live_frees_read(const struct live *live, struct live_frees *ret_frees);
void live_frees_done(struct live_frees *frees);

/* Hands over a process's. 0 or negative errno. */
int live_frees_emit(struct live *live, const struct live_process *process,
		    const struct live_frees *frees);

/* Deletes those of images that are over, marked by slot. 0 or negative errno. */
int live_frees_purge(struct live *live, const bool *gone);

#endif
