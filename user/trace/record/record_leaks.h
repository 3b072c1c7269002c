/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of leak checks: what one of a process has found, and the text that was written then. They
 * stand outside of cuts. Part of record.h, whose rules apply.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_LEAKS_H
#define MEMTRACED_TRACE_RECORD_RECORD_LEAKS_H

#include "trace/record/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_leak_sum {
	const char *name; /* of a class of blocks, or "suppressed" */
	uint64_t blocks, bytes;
};

/* Where blocks were allocated, and the worst of what became of them. */
struct record_leak_place {
	uint64_t stack;
	uint16_t fn;
	uint8_t class; /* 0 definite, 1 indirect, 2 possible, 3 reachable */
};

/* The latest of a process holds. */
struct record_leaks {
	image_t image;
	uint64_t number; /* of the process's checks, from 1 */
	uint64_t errors;
	bool complete; /* all was looked through */
	uint64_t stopped_ns, running_threads;
	bool unknown_blocks,
		older_blocks; /* there may be; there were some from before the attach */
	size_t n_sums;
	const struct record_leak_sum *sums;
	size_t n_places;
	const struct record_leak_place *places;
};

struct record_leak_text {
	uint32_t pid;
	const char *text; /* lines, as they were written */
};

#endif
