/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the blocks of a scenario's sites are freed.
 */
#ifndef MEMTRACED_TESTS_REPLAY_FREE_PAIRS_H
#define MEMTRACED_TESTS_REPLAY_FREE_PAIRS_H

#include "tests/record_script.h"

static inline void emit_free_pair(const struct script *s, struct record_free_pair pair)
{
	emit(s, &(struct record){ .type = RECORD_FREE_PAIR, .free_pair = pair });
}

/*
 * Of the site of function 1 at `made`: two ids of one place, one that others free at too, some of
 * which is not known, four places in all; of a site that no record tells of; of one more nothing.
 */
static inline void emit_free_pairs(const struct script *s, uint32_t image, uint64_t made,
				   uint64_t loop, uint64_t plugin_1, uint64_t plugin_2)
{
	struct record_free_pair pair = { .image = { image },
					 .fn = 1,
					 .stack = made,
					 .free_fn = 4,
					 .free_stack = loop,
					 .count = 10,
					 .bytes = 640,
					 .others = 4,
					 .total_ns = 90000,
					 .lifetimes = { 6, [2] = 4 } };

	emit_free_pair(s, pair);
	pair.free_stack = made;
	pair.unknown = 10;
	pair.others = pair.total_ns = pair.lifetimes[0] = pair.lifetimes[2] = 0;
	emit_free_pair(s, pair);
	pair.free_stack = plugin_1;
	pair.count = 3;
	pair.unknown = 1;
	pair.total_ns = 1ull << 43;
	pair.lifetimes[RECORD_LIFETIMES - 1] = 2;
	emit_free_pair(s, pair);
	pair.free_stack = plugin_2;
	pair.count = 2;
	pair.unknown = 0;
	emit_free_pair(s, pair);
	pair.free_fn = 2;
	emit_free_pair(s, pair);
	pair.stack = 0x999;
	emit_free_pair(s, pair);
}

#endif
