/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Binary search in what is sorted: the least index below `n` for which `is_before`, an expression
 * of the index `i`, is false; n: it is true of all. It must be true of all indexes below that one.
 */
#ifndef MEMTRACED_BASE_PARTITION_POINT_H
#define MEMTRACED_BASE_PARTITION_POINT_H

#include <stddef.h>

#define partition_point(n, i, is_before)                                                           \
	({                                                                                         \
		size_t pp_low = 0, pp_high = (n);                                                  \
		while (pp_low < pp_high) {                                                         \
			size_t i = pp_low + (pp_high - pp_low) / 2;                                \
			if (is_before)                                                             \
				pp_low = i + 1;                                                    \
			else                                                                       \
				pp_high = i;                                                       \
		}                                                                                  \
		pp_low;                                                                            \
	})

#endif
