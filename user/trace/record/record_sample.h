/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of samples: what processes and their largest sites held at one moment, for series over
 * time. Part of record.h, whose rules apply.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_SAMPLE_H
#define MEMTRACED_TRACE_RECORD_RECORD_SAMPLE_H

#include "trace/record/image.h"

#include <stdint.h>

struct record_sample {
	uint64_t time_ns;
};

/*
 * Of a forked child without what it inherited, but for what the kernel says. Where allocations are
 * not counted, what is of them is 0.
 */
struct record_sample_process {
	image_t image;
	int64_t live_bytes, live_blocks;
	uint64_t allocs, frees, bytes; /* so far */
	uint64_t rss_bytes;	       /* UINT64_MAX: not known */
	uint64_t cgroup_bytes;	       /* that all of its cgroup use; 0: not known */
	uint64_t pss_bytes;	       /* 0: not read now */
};

/* A site with live blocks, its own and none that were inherited. */
struct record_sample_site {
	image_t image;
	uint16_t fn;
	uint64_t stack;
	int64_t live_bytes;
};

struct record_sample_end {
	uint64_t n_left_out; /* sites with live blocks that have no record, being smaller */
	int64_t most_bytes;  /* that one of them holds */
	uint64_t n_processes_left_out; /* that run and have no record, being too many */
};

#endif
