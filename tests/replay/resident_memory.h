/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resident memory of a scenario.
 */
#ifndef MEMTRACED_TESTS_REPLAY_RESIDENT_MEMORY_H
#define MEMTRACED_TESTS_REPLAY_RESIDENT_MEMORY_H

#include "tests/record_script.h"

/* One whose blocks are all known, read while it stood still; `unit` bytes of stacks. */
static inline void emit_resident_process(const struct script *s, uint32_t image, uint64_t unit,
					 uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_RESIDENT,
				  .resident = { .image = { image },
						.time_ns = time_ns,
						.rss = 100 * unit,
						.pss = 80 * unit,
						.page_tables = 204800,
						.heap_live = 60 * unit,
						.heap_free = 20 * unit,
						.mmap = 10 * unit,
						.file = 8 * unit,
						.stack = unit,
						.unknown = unit,
						.all_blocks = true,
						.mapped = 30 * unit,
						.inaccessible = 5 * unit } });
}

/* One that ran before the attach, and went on while it was read. */
static inline void emit_resident_older(const struct script *s, uint32_t image, uint64_t unit,
				       uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_RESIDENT,
				  .resident = { .image = { image },
						.time_ns = time_ns,
						.rss = 101 * unit,
						.pss = 101 * unit,
						.swap = 3 * unit,
						.page_tables = 204800,
						.heap_live = 60 * unit,
						.file = 8 * unit,
						.stack = unit,
						.unknown = 31 * unit,
						.unknown_heap = 30 * unit,
						.moved = unit } });
}

#endif
