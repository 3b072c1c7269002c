/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that run now, and the addresses of what their allocators hold, for what looks at
 * their memory as a whole.
 */
#ifndef MEMTRACED_TRACE_LIVE_LIVE_IMAGES_H
#define MEMTRACED_TRACE_LIVE_LIVE_IMAGES_H

#include "base/ranges.h"
#include "base/vec.h"
#include "trace/record/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct live;

struct live_image {
	uint32_t slot; /* of the programs */
	image_t image;
	pid_t pid;
	bool from_start;	    /* none of its blocks is older than the attach */
	const struct ranges *areas; /* mapped by its allocators; valid until the next drain */
	VEC(struct range) blocks;   /* live ones, ascending */
};

/*
 * All that are reported and have not ended, or that of `pid` alone (0: all), with their blocks,
 * those from ancestors included; a block that changes hands meanwhile may be missing. 0 or negative
 * errno.
 */
int live_images_new(const struct live *live, pid_t pid, struct live_image **ret_images,
		    size_t *ret_n);
void live_images_free(struct live_image *images, size_t n);

#endif
