/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growable arrays of any element type: VEC(type) declares the struct in place, zero-initialised
 * is empty. Elements are moved by growth: keep indexes, not pointers, across a push. Header only.
 */
#ifndef MEMTRACED_BASE_VEC_H
#define MEMTRACED_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t len;                                                                        \
		size_t cap;                                                                        \
	}

/* Makes room for `cap` elements of `size` bytes; 0 or -ENOMEM. Use the macros below. */
static inline int vec_grow_raw(void **data, size_t *cap, size_t size, size_t want)
{
	size_t cap_new = *cap ? *cap : 8;
	void *p;

	if (want <= *cap)
		return 0;
	while (cap_new < want)
		cap_new *= 2;
	p = reallocarray(*data, cap_new, size);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = cap_new;
	return 0;
}

/* 0 or -ENOMEM. */
#define vec_reserve(v, n)                                                                          \
	({                                                                                         \
		void *vec_data_tmp = (v)->data;                                                    \
		int vec_r_tmp = vec_grow_raw(&vec_data_tmp, &(v)->cap, sizeof(*(v)->data), (n));   \
		(v)->data = vec_data_tmp;                                                          \
		vec_r_tmp;                                                                         \
	})

/* Appends a copy of the element; 0 or -ENOMEM (the vector is then as before). */
#define vec_push(v, ...)                                                                           \
	({                                                                                         \
		int vec_p_tmp = vec_reserve((v), (v)->len + 1);                                    \
		if (vec_p_tmp == 0)                                                                \
			(v)->data[(v)->len++] = (__VA_ARGS__);                                     \
		vec_p_tmp;                                                                         \
	})

/* A copy of n elements of `size` bytes; of none, too, it is not NULL but without memory. */
static inline void *array_copy(const void *from, size_t n, size_t size)
{
	void *to = calloc(n + 1, size);

	if (to && n > 0)
		memcpy(to, from, n * size);
	return to;
}

/* A comparison for qsort(3): ascending by one member, a number. */
#define DEFINE_COMPARE(name, type, member)                                                         \
	static int name(const void *item_a, const void *item_b)                                    \
	{                                                                                          \
		const type *a = item_a, *b = item_b;                                               \
		return (a->member > b->member) - (a->member < b->member);                          \
	}

/* By a comparison of qsort(3), which may not be given the NULL of an empty vector. */
#define vec_sort(v, compare)                                                                       \
	do {                                                                                       \
		if ((v)->len > 1)                                                                  \
			qsort((v)->data, (v)->len, sizeof(*(v)->data), (compare));                 \
	} while (0)

/* Frees the array, not what its elements own. */
#define vec_done(v)                                                                                \
	do {                                                                                       \
		free((v)->data);                                                                   \
		(v)->data = NULL;                                                                  \
		(v)->len = (v)->cap = 0;                                                           \
	} while (0)

/* Iterates with a pointer to each element; the vector must not grow in the body. */
#define vec_foreach(v, it)                                                                         \
	for (typeof(*(v)->data) *it = (v)->data; (v)->len && it < (v)->data + (v)->len; it++)

/*
 * Binary search in what is sorted: the least index below `n` for which `is_before`, an expression
 * of the index `i`, is false; n: it is true of all. It must be true of all indexes below that one.
 */
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
