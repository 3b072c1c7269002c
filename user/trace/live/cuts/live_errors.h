/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong uses of the heap as the programs have noted them (bpf/heap_error.bpf.h), for a cut. Not
 * thread-safe.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_ERRORS_H
#define MEMTRACED_TRACE_LIVE_LIVE_ERRORS_H

#include "base/vec.h"
#include "bpf/abi_heap_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;
struct live_process;
struct programs;

struct live_error {
	struct abi_heap_error_key key;
	struct abi_heap_error value;
};

struct live_errors {
	VEC(struct live_error) all;
};

/* All that there are now. 0 or negative errno; to be released in both cases. */
int live_errors_read(const struct programs *programs, struct live_errors *ret_errors);
void live_errors_done(struct live_errors *errors);

/* Hands over a process's. 0 or negative errno. */
int live_errors_emit(struct live *live, const struct live_process *process,
		     const struct live_errors *errors);

/* Times that an error of the process had no room. */
uint64_t live_errors_further(const struct live *live, const struct live_process *process);

/* Deletes those of images that are over, marked by slot. 0 or negative errno. */
int live_errors_purge(struct live *live, const bool *gone);

#endif
