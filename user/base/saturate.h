/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Floating-point numbers as integers, where the number may come from a recording and be anything: C
 * leaves a conversion undefined that does not fit. The nearest value of the type; of no number 0.
 */
#ifndef MEMTRACED_BASE_SATURATE_H
#define MEMTRACED_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t saturate_u64(double value)
{
	if (!(value > 0))
		return 0;
	return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

static inline int64_t saturate_i64(double value)
{
	if (value < 0)
		return value >= -0x1p63 ? (int64_t)value : INT64_MIN;
	return saturate_u64(value) < INT64_MAX ? (int64_t)saturate_u64(value) : INT64_MAX;
}

#endif
