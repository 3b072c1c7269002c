/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two numbers of a process image that are not to be taken for each other. */
#ifndef MEMTRACED_TRACE_LIVE_SLOT_H
#define MEMTRACED_TRACE_LIVE_SLOT_H

#include <stdint.h>

/* The number that a process image has in records: no other image of the run has it. */
typedef struct {
	uint32_t n;
} image_t;

/* Where a process is in the programs' tables; when its image is over, another may be there. */
typedef struct {
	uint32_t n;
} slot_t;

#endif
