/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deletes from the maps of allocations what processes that are over have left there.
 */
#ifndef MEMTRACED_TRACE_LIVE_PURGE_H
#define MEMTRACED_TRACE_LIVE_PURGE_H

#include <stdbool.h>
#include <stddef.h>

struct programs;

/*
 * The entries of these slots (slots[], by slot), which no program changes any more; and, of all
 * others, the records of freed blocks that were kept for children of which none is left. 0 or
 * negative errno.
 */
int purge_slots(const struct programs *programs, const bool *slots, size_t n_slots);

#endif
