/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view holds: processes, their sites, the places of a site's stack, and the frames that
 * writers print for them. Plain data, owned by the view.
 */
#ifndef MEMTRACED_REPORT_VIEW_SITE_H
#define MEMTRACED_REPORT_VIEW_SITE_H

#include "config/options.h"
#include "model/image.h"
#include "model/object_table.h"
#include "model/regions.h"
#include "symbol/symbolizer.h"

#define VIEW_UNKNOWN UINT64_MAX /* of ages and counts */

/* One return address, or the allocator function itself. */
struct view_place {
	bool has_addr;
	uint64_t addr;
	const char *object; /* path; NULL: nothing known was mapped there */
	uint64_t offset;    /* in the file of the object */
	uint64_t vaddr;	    /* the place as the object's own ELF address; addr without an object */
	const char *alloc;  /* name of the allocator function: a site's first place; else NULL */
	const struct symbol *symbol; /* never NULL */
	const struct model_object *mapped;
};

enum view_class { VIEW_HEAP, VIEW_MMAP };

struct view_site {
	uint64_t id; /* content hash: the same in every run of the same binaries */
	enum view_class class;
	int64_t live_bytes, live_blocks, peak_bytes, growth_bytes;
	uint64_t allocs, bytes;
	uint64_t temporary;	       /* VIEW_UNKNOWN for mmap */
	uint64_t oldest_ns, newest_ns; /* ages; VIEW_UNKNOWN */
	bool truncated;		       /* the stack goes on beyond the last place */
	bool stack_lost;	       /* only the allocator function is known */
	size_t n_places;
	struct view_place *places; /* innermost first: the allocator function, then its callers */
};

struct view_process {
	const struct model_process *image;
	struct record_totals totals; /* where image->has_totals; of heap blocks alone */
	bool exact;		     /* false: events were lost that may be this process's */
	bool has_mmap;
	struct region_totals mmap;
	size_t n_sites;
	struct view_site *sites;
	/* What the filter took out, so that no report hides it silently. */
	size_t n_left_out;
	int64_t left_out_bytes;
};

/* The value that sites are sorted by. */
int64_t view_site_weight(const struct view_site *site, enum option_sort sort);

/* Sums that a damaged recording cannot overflow. */
static inline int64_t view_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (a > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* One line of a stack as writers print it: inlined functions are frames of their own. */
struct view_frame {
	const struct view_place *place;
	const char *function; /* NULL: unknown */
	bool has_offset;
	uint64_t offset;  /* from the function's start, or without one in the object's file */
	const char *file; /* NULL: unknown */
	uint32_t line;	  /* 0: unknown */
	bool is_inline;
};

struct view_frames {
	const struct view_site *site;
	size_t place, frame;
};

/* Frames of a site, innermost first: `struct view_frames it = { .site = site };`, then next. */
bool view_frames_next(struct view_frames *frames, struct view_frame *ret_frame);

#endif
