/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own count of what programs take. While it counts, for all programs of the host, each
 * run takes some 40 ns more.
 */
#ifndef MEMTRACED_TRACE_BPF_RUN_STATS_H
#define MEMTRACED_TRACE_BPF_RUN_STATS_H

#include <stdint.h>

struct programs;

/* Of the programs in probes of allocators and of samples, since they were loaded. */
struct run_stats {
	uint64_t runs, ns;
};

/* It counts until the descriptor is closed; or negative errno: it does not. */
int run_stats_open(void);
/* 0 or negative errno. */
int run_stats_read(const struct programs *programs, struct run_stats *ret_stats);

#endif
