/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap class of one process: which address ranges its mmap calls hold now, and the totals of
 * each call site. Partial unmaps shrink or split a region, a mapping over another replaces it
 * (MAP_FIXED), a forked child starts with its parent's regions. Owned by the model.
 */
#ifndef MEMTRACED_MODEL_REGIONS_H
#define MEMTRACED_MODEL_REGIONS_H

#include "base/cleanup.h"
#include "base/ranges.h"

#include <stddef.h>
#include <stdint.h>

struct region_site {
	uint64_t stack;
	uint16_t fn;
	int64_t live_bytes, live_blocks; /* blocks: separate ranges, so a split makes two of one */
	uint64_t allocs, bytes;		 /* by this process itself, not inherited */
	int64_t peak_bytes;		 /* held when the process's total was highest */
	int64_t growth_bytes;		 /* from the cut before the last one to the last one */
	uint64_t oldest_birth_ns, newest_birth_ns; /* of live ranges; UINT64_MAX when none */
	int64_t young_bytes, young_blocks;	   /* of live ones */
};

struct region_totals {
	uint64_t allocs, bytes;
	int64_t live_bytes, live_blocks;
	int64_t peak_bytes;
	uint64_t left_out; /* ranges that are not known any more, or never were: regions_limit */
};

struct regions;

int regions_new(struct regions **ret_regions);
/* A forked child's: what the parent holds now is live in both. */
int regions_new_inherited(const struct regions *parent, struct regions **ret_regions);
/* NULL is legal. */
void regions_free(struct regions *regions);
DEFINE_CLEANUP(struct regions, regions_free)

/*
 * So many ranges are kept at most, of those of its children as well (0: all, as it is without
 * this). What comes when there are so many is counted as mapped and left out of what is live.
 */
void regions_limit(struct regions *regions, size_t most);

/* A region was mapped. 0 or -ENOMEM; an empty range is ignored. */
int regions_map(struct regions *regions, uint64_t start, uint64_t end, uint16_t fn, uint64_t stack,
		uint64_t time_ns);

/* A range was unmapped, which may hold no, one or many regions or parts of them. */
int regions_unmap(struct regions *regions, uint64_t start, uint64_t end);

/* A cut was taken: growth is counted from one cut to the next. */
void regions_cut(struct regions *regions);

/* The process ended: its ranges are forgotten, the sites stay as they are. */
void regions_end(struct regions *regions);

/* Ranges that are held now, and sites that any was ever mapped by. */
size_t regions_count(const struct regions *regions);
size_t regions_n_sites(const struct regions *regions);
uint64_t regions_left_out(const struct regions *regions);
void regions_totals(const struct regions *regions, struct region_totals *ret_totals);
/* The ranges that are held now, ascending, as a malloc'ed array. 0 or -ENOMEM. */
int regions_ranges(const struct regions *regions, struct range **ret_ranges, size_t *ret_n);
/*
 * All sites in order of their first region, as a malloc'ed array; young ranges are those mapped at
 * or after since_ns. 0 or -ENOMEM.
 */
int regions_sites(const struct regions *regions, uint64_t since_ns, struct region_site **ret_sites,
		  size_t *ret_n);

#endif
