/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers into a block's inside that compilers make where the program has one to the start. Pure
 * but for what the reader keeps.
 */
#ifndef MEMTRACED_ANALYZE_HEURISTICS_H
#define MEMTRACED_ANALYZE_HEURISTICS_H

#include "analyze/memory_reader.h"

/*
 * The first of the heuristics in `set` by which `ptr`, inside the block but not at its start, is as
 * good as one to its start; or REACH_BY_POINTER. `input` is asked for files.
 */
enum reach_heuristic heuristics_find(const struct reach_input *input, struct memory_reader *reader,
				     uint32_t set, const struct reach_block *block, uint64_t ptr);

#endif
