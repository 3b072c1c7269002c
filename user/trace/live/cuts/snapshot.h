/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A consistent reading of the site and block maps at a cut (DESIGN.md section 10): stripes summed,
 * ages from the live blocks, and for forked children what they inherited: the blocks of their
 * ancestors that are older than the fork, whether these still hold them or not.
 */
#ifndef MEMTRACED_TRACE_LIVE_SNAPSHOT_H
#define MEMTRACED_TRACE_LIVE_SNAPSHOT_H

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "trace/record/record_cut.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;
struct live_process;
struct snapshot;

struct snapshot_site {
	uint64_t stack;
	uint32_t slot;
	uint16_t fn;
	bool touched; /* the process itself allocated or freed here */
	struct abi_site_counts counts;
	/* Of samples: what live_blocks, allocs and inherited_blocks are estimated with. */
	uint64_t blocks_variance, allocs_variance, inherited_variance;
	double live_variance;			   /* the same of live_bytes, */
	uint64_t live_samples;			   /* of which there are so many */
	uint64_t live_beyond;			   /* abi_site_counts.most_beyond, of those */
	int64_t peak_bytes, peak_blocks;	   /* blocks: not of samples */
	uint64_t lifetimes;			   /* abi_site_counts.lifetimes; 0 of samples */
	int64_t inherited_bytes, inherited_blocks; /* part of counts.live_* and of peak_* */
	uint32_t oldest_tick, newest_tick;	   /* of live blocks; oldest > newest: none */
	uint64_t born_bytes[RECORD_BIRTHS];	   /* the same by parts of the ticks so far */
	int64_t young_bytes, young_blocks;	   /* of live blocks, those from the mark on */
};

/* What the caller knows of a process. */
struct snapshot_process {
	uint32_t slot;
	bool wanted;	    /* its sites are to be read */
	bool forked;	    /* it may hold inherited blocks */
	uint32_t last_tick; /* now, or its end */
	/* If wanted: what books have of it, and of what it inherits, is read, too. */
	struct live_process *process;
};

/*
 * Reads. `processes` by slot. Without `blocks` there are no ages and nothing of what was inherited,
 * and it takes a fraction of the time. young_tick: when young blocks began. 0 or negative errno.
 */
int snapshot_new(struct live *live, const struct snapshot_process *processes, size_t n, bool blocks,
		 uint32_t young_tick, struct snapshot **ret_snapshot);
void snapshot_free(struct snapshot *snapshot); /* NULL is legal */
DEFINE_CLEANUP(struct snapshot, snapshot_free)

/* The sites, sorted by slot. */
const struct snapshot_site *snapshot_sites(const struct snapshot *snapshot, size_t *ret_n);

#endif
