/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs have noted by stacks, for a cut. Not thread-safe. */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_NOTES_H
#define MEMTRACED_TRACE_LIVE_LIVE_NOTES_H

#include "base/interns.h"
#include "base/vec.h"
#include "bpf/abi_free_pair.h"
#include "bpf/abi_heap_error.h"

#include <stdbool.h>
#include <stdint.h>

struct live;
struct live_process;
struct programs;

/* --- wrong uses of the heap (bpf/heap_error.bpf.h) -------------------------------------------- */

struct live_error {
	struct abi_heap_error_key key;
	struct abi_heap_error value;
};

struct live_errors {
	VEC(struct live_error) all;
};

/* All that there are now. 0 or negative errno; to be released in both cases. */
int live_errors_read(const struct programs *programs, struct live_errors *ret_errors);
/* The same of a process's book. */
int live_errors_read_book(struct live *live, struct live_process *process,
			  struct live_errors *errors);
void live_errors_done(struct live_errors *errors);

/* Hands over a process's. 0 or negative errno. */
int live_errors_emit(struct live *live, const struct live_process *process,
		     const struct live_errors *errors);

/* Times that an error of the process had no room. */
uint64_t live_errors_further(const struct live *live, const struct live_process *process);

/* Deletes those of images that are over, marked by slot. 0 or negative errno. */
int live_errors_purge(struct live *live, const bool *gone);

/* --- where the blocks of sites are freed: --free-stacks (bpf/free_pair.bpf.h) ----------------- */

struct live_free {
	struct abi_free_key key;
	struct abi_free_pair value;
};

struct live_frees {
	VEC(struct live_free) all;
	struct interns keys; /* of these that books have */
};

/*
 * All that there are now, none where they are not asked for. What is freed while a cut is read may
 * be in it. 0 or negative errno; to be released in both cases.
 */
int live_frees_read(const struct live *live, struct live_frees *ret_frees);
/* The same of a process's book. */
int live_frees_read_book(struct live *live, struct live_process *process, struct live_frees *frees);
/* By image, as the next two need them. */
void live_frees_sort(struct live_frees *frees);
void live_frees_done(struct live_frees *frees);

/* Hands over a process's. 0 or negative errno. */
int live_frees_emit(struct live *live, const struct live_process *process,
		    const struct live_frees *frees);

/* Deletes those of images that are over, marked by slot. 0 or negative errno. */
int live_frees_purge(struct live *live, const bool *gone);

#endif
