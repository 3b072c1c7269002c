/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MEMTRACED_TRACE_LIVE_SLOT_H
#define MEMTRACED_TRACE_LIVE_SLOT_H

#include "trace/record/image.h"

/* Where a process is in the programs' tables; when its image is over, another may be there. */
typedef struct {
	uint32_t n;
} slot_t;

#endif
