/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view holds of allocations: processes and their sites. Plain data, owned by the view. What
 * is learnt of sites beside their sums is set here: growth, leaks, where blocks are freed.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_SITE_H
#define MEMTRACED_REPORT_VIEW_VIEW_SITE_H

#include "analyze/growth.h"
#include "analyze/reach_types.h"
#include "config/options.h"
#include "model/image.h"
#include "model/regions.h"
#include "report/view/view_errors.h"
#include "report/view/view_estimate.h"
#include "report/view/view_frees.h"
#include "report/view/view_series.h"
#include "report/view/view_stack.h"

#define VIEW_UNKNOWN UINT64_MAX /* of ages and counts */

enum view_class { VIEW_HEAP, VIEW_MMAP };

struct leak_result;
struct report_opts;
struct view_resolver;

struct view_site {
	uint64_t id; /* content hash: the same in every run of the same binaries */
	enum view_class class;
	int64_t live_bytes, live_blocks, peak_bytes, growth_bytes;
	int64_t young_bytes, young_blocks; /* of live ones, those from the latest mark on, or all */
	uint64_t allocs, bytes;
	uint64_t temporary; /* VIEW_UNKNOWN for mmap and of samples */
	/* The same, and of recordings of older versions: as of record_site. */
	uint64_t peak_blocks, lifetime_ns;
	uint64_t oldest_ns, newest_ns; /* ages; VIEW_UNKNOWN */
	enum reach_class leak;	       /* the worst of its blocks; REACH_CLASSES: not checked */
	uint64_t blocks_variance, allocs_variance; /* of samples */
	double live_variance, bytes_variance;
	uint64_t samples, live_samples, live_beyond, most_beyond; /* as in record_site */
	int64_t inherited_bytes;
	struct view_estimate estimate;
	struct view_series series;
	uint64_t born_bytes[GROWTH_BIRTHS]; /* live ones, by the part of the run; 0: not known */
	bool has_growth;		    /* there were enough samples for a verdict */
	struct growth growth;
	struct view_stack stack; /* the allocator function, then its callers */
	struct view_frees frees; /* where its blocks were freed, if that was asked for */
};

struct view_process {
	const struct model_process *image;
	struct record_totals totals; /* where image->has_totals; of heap blocks alone */
	bool exact;		     /* false: events were lost that may be this process's */
	/*
	 * It goes on at another depth, and was counted there again: what it held at the end of this
	 * stretch of time is not what it holds.
	 */
	bool is_past;
	bool has_mmap;
	struct region_totals mmap;
	struct view_timeline timeline;
	bool has_growth;
	struct growth growth; /* of the heap as a whole */
	size_t n_sites;
	struct view_site *sites;
	struct view_errors errors;
	struct view_fault fault;
	const struct leak_result *leaks; /* the latest check, NULL: none */
	/* What the filter took out, so that no report hides it silently. */
	size_t n_left_out;
	int64_t left_out_bytes;
};

/* The site as sums have it: of a stretch that is past nothing is live, nor at the peak. */
struct view_site view_site_in_sums(const struct view_process *process,
				   const struct view_site *site);

/* 0 also where it is not known. */
static inline uint64_t view_site_temporary(const struct view_site *site)
{
	return site->temporary == VIEW_UNKNOWN ? 0 : site->temporary;
}

/* Was nothing missed that would make a right use of the heap look wrong? */
static inline bool view_errors_certain(const struct view_process *process)
{
	return process->exact && process->totals.missed_frees == 0;
}

/* Did nothing change while it was read what of the process is in memory, and was nothing lost? */
static inline bool view_resident_exact(const struct view_process *process)
{
	return process->exact && process->image->resident.moved == 0;
}

/* What comes first in the order of growth: leaks, then what grows, then the others. */
static inline int view_site_urgency(const struct view_site *site)
{
	if (!site->has_growth || site->growth.verdict < GROWTH_GROWING)
		return 0;
	return site->growth.verdict == GROWTH_LEAK ? 2 : 1;
}

/* The value that sites are sorted by. */
int64_t view_site_weight(const struct view_site *site, enum option_sort sort);

/*
 * The mean size of a site's allocations; where a child has only inherited blocks of it, of these.
 * VIEW_UNKNOWN where there are neither.
 */
uint64_t view_site_mean_size(const struct view_site *site);

/*
 * What formats with one number a stack show: live bytes, or what is asked to be sorted by where
 * that is a quantity of its own, bytes at the peak or temporary allocations.
 */
enum option_sort view_site_quantity(enum option_sort sort);

/* Sets the process's check, if there was one, and its sites' classes. 0 or -ENOMEM. */
int view_leaks_init(const struct view_resolver *resolver, const struct report_opts *opts,
		    struct view_process *process);

/*
 * A verdict on how it grows: sets has_growth and growth, if there are samples of least_span_ns. The
 * process's are judged from all its sites, those left out, too.
 */
void view_judge_site(const struct view_timeline *timeline, uint64_t least_span_ns,
		     struct view_site *site);
void view_judge_process(struct view_process *process, uint64_t least_span_ns,
			const uint64_t born_bytes[GROWTH_BIRTHS]);

/* Where blocks were freed, of the process's sites, which have no frees yet. 0 or -ENOMEM. */
int view_free_pairs_init(const struct view_resolver *resolver, struct view_process *process);

#endif
