/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of a process image in records and in the model. No other image of the run has it. */
#ifndef MEMTRACED_TRACE_RECORD_IMAGE_H
#define MEMTRACED_TRACE_RECORD_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
