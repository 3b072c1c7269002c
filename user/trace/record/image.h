/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of a process image in records and in the model. No other image of the run has it. */
#ifndef MEMTRACED_TRACE_RECORD_IMAGE_H
#define MEMTRACED_TRACE_RECORD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
	uint32_t n;
} image_t;

/* None, or the kernel. */
#define RECORD_NO_IMAGE ((image_t){ UINT32_MAX })

static inline bool image_is(image_t a, image_t b)
{
	return a.n == b.n;
}

static inline bool image_is_none(image_t image)
{
	return image_is(image, RECORD_NO_IMAGE);
}

/* Sorted lists of images, in which one is looked up. */
static inline int image_list_compare(const void *item_a, const void *item_b)
{
	const image_t *a = item_a, *b = item_b;

	return (a->n > b->n) - (a->n < b->n);
}

static inline void image_list_sort(image_t *images, size_t n)
{
	if (n > 1)
		qsort(images, n, sizeof(*images), image_list_compare);
}

static inline bool image_list_has(const image_t *images, size_t n, image_t image)
{
	return n > 0 && bsearch(&image, images, n, sizeof(*images), image_list_compare);
}

#endif
