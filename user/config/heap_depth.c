/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/heap_depth.h"

#include <errno.h>
#include <string.h>

static const char *const names[] = {
	[HEAP_EXACT] = "exact",
	[HEAP_SAMPLED] = "sampled",
};

int heap_depth_parse(const char *word, enum heap_depth *ret_depth)
{
	for (int i = HEAP_EXACT; i <= HEAP_SAMPLED; i++)
		if (strcmp(names[i], word) == 0) {
			*ret_depth = (enum heap_depth)i;
			return 0;
		}
	return -EINVAL;
}

const char *heap_depth_name(enum heap_depth depth)
{
	return names[depth];
}
