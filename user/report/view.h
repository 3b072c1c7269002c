/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A read-only view of model and symbols for one report: processes in the order of DESIGN.md section
 * 12, each with its sites merged (the same places have many stack ids: one for every time that code
 * was loaded), resolved, filtered and sorted. Made anew for each report; writers only read it.
 */
#ifndef MEMTRACED_REPORT_VIEW_H
#define MEMTRACED_REPORT_VIEW_H

#include "base/cleanup.h"
#include "model/model.h"
#include "model/regions.h"
#include "report/report_opts.h"
#include "report/symbols.h"

struct view;

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

/*
 * Model and symbols must outlive the view and not change meanwhile. `opts` is copied. 0 or
 * -ENOMEM.
 */
int view_new(const struct model *model, struct symbols *symbols, const struct report_opts *opts,
	     struct view **ret_view);
/* NULL is legal. */
void view_free(struct view *view);
DEFINE_CLEANUP(struct view, view_free)

const struct model *view_model(const struct view *view);
const struct report_opts *view_opts(const struct view *view);
/* CLOCK_MONOTONIC ns of the state shown. */
uint64_t view_now_ns(const struct view *view);

/*
 * The newest images of the roots come first, then those of other processes by start; images that an
 * exec replaced stand right after their successor, if they allocated anything themselves.
 */
size_t view_n_processes(const struct view *view);
const struct view_process *view_process(const struct view *view, size_t index);

/* Nothing was lost in the whole run; false before the first cut. */
bool view_is_exact(const struct view *view);

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
