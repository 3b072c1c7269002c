/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of what recordings hold: one that is damaged cannot make them overflow.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_SUM_H
#define MEMTRACED_REPORT_VIEW_VIEW_SUM_H

#include <stdint.h>

static inline int64_t view_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (a > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static inline uint64_t view_sum_u64(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
