/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic with numbers that may come from a recording and be anything: a result that does not
 * fit, which C leaves undefined, is the nearest value of the type. Not a number: 0.
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

/* The value as a signed one. */
static inline int64_t saturate_signed(uint64_t value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

/* The value as an unsigned one. */
static inline uint64_t saturate_unsigned(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static inline int64_t saturate_add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (a > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static inline uint64_t saturate_add_u64(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline int64_t saturate_subtract(int64_t a, int64_t b)
{
	int64_t result;

	return __builtin_sub_overflow(a, b, &result) ? (a > 0 ? INT64_MAX : INT64_MIN) : result;
}

static inline uint64_t saturate_subtract_u64(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The value without its sign. */
static inline uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

#endif
