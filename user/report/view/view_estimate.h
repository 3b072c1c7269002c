/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the figures of samples can be off. A sample of weight w and size S adds w (w - S) to the
 * variance: nothing where the block was chosen for certain. The margin is 1.96 standard errors to
 * either side, with the variance as it would be at the ends of that interval, which matters where
 * samples are few (docs/hacking/sampling.md, "Margins"). That holds of what is live and of what was
 * ever allocated; a peak is chosen for being large, and has a wider one. Pure functions.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_ESTIMATE_H
#define MEMTRACED_REPORT_VIEW_VIEW_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct model;
struct model_process;
struct record_totals;

struct view_estimate {
	uint64_t interval;		  /* bytes; 0: no estimate, and nothing else is set */
	uint64_t shown_interval;	  /* of a process: its own, less where it was thinned */
	uint64_t samples;		  /* live ones */
	uint64_t ci95_bytes, ci95_blocks; /* of what is live, to either side, as all of them */
	uint64_t ci95_allocated_bytes, ci95_allocs, ci95_frees; /* of sums over the run */
	uint64_t ci95_peak_bytes;
};

/* What is counted in one place, as records have it (record_site, record_totals). */
struct view_sampled {
	int64_t live_bytes, live_blocks, peak_bytes, inherited_bytes;
	uint64_t blocks_variance, allocs_variance, frees_variance; /* of live_blocks and these */
	uint64_t allocs, bytes;
	uint64_t se_live_bytes, se_bytes;  /* standard errors of live_bytes and bytes */
	uint64_t samples, live_samples;	   /* both 0 beside bytes: not known, as their errors are */
	uint64_t live_beyond, most_beyond; /* for how many blocks beyond itself a sample stands */
	/* Blocks that no sample was of are as those that were seen; else they may be small ones. */
	bool is_site;
};

/* With `interval` 0 all is 0. Where there is no sample, three are what may be missed. */
struct view_estimate view_estimate(uint64_t interval, const struct view_sampled *sampled);
struct view_estimate view_estimate_totals(const struct record_totals *totals);

/* Of what no sample was of: blocks are of the mean size of so many with so many bytes. */
struct view_estimate view_estimate_of_none(uint64_t interval, uint64_t blocks, uint64_t bytes);

/* The margin of so many bytes of this variance; 0 without an interval. */
uint64_t view_estimate_ci95(uint64_t interval, int64_t bytes, double variance);

/*
 * Of a difference: what can be off of estimates that do not depend on each other adds up by its
 * squares. Peaks are all rather too large, so theirs adds up as it is.
 */
void view_estimate_subtract(struct view_estimate *to, const struct view_estimate *other);
/* Of a sum the same, but that what may have been missed is said once, where nothing was seen. */
void view_estimate_add(struct view_estimate *to, const struct view_estimate *other);
/*
 * The same of an image's estimate: samples that a forked one holds are its parent's, and in the sum
 * already, so that of what is live all may be off to one side.
 */
void view_estimate_add_image(struct view_estimate *to, const struct view_estimate *other,
			     const struct model_process *image);

/*
 * So few samples that a normal distribution is a poor likeness of Poisson's: reports say how few
 * there are. Blocks that were chosen for certain, which have no margin, need no more of them.
 */
bool view_has_few_samples(const struct view_estimate *estimate);

/* Are all of a run's figures estimates, those of one image, or those of any? */
bool view_is_sampled(const struct model *model);
bool view_image_is_sampled(const struct model *model, const struct model_process *image);
bool view_has_estimates(const struct model *model);
/* Does any image tell which allocations were temporary? Samples do not. */
bool view_knows_temporary(const struct model *model);

#endif
