/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorted lists of images, in which one is looked up. Header only; no state. */
#ifndef MEMTRACED_TRACE_RECORD_IMAGE_LIST_H
#define MEMTRACED_TRACE_RECORD_IMAGE_LIST_H

#include "trace/record/image.h"

#include <stddef.h>
#include <stdlib.h>

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
