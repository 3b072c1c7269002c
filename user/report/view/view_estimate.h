/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far the figures of samples can be off. A sample of a Poisson process over bytes stands for
 * one interval, so that n of them estimate n intervals with a standard error of sqrt(n) intervals,
 * whatever the blocks' sizes: a large block holds several. A 95 % interval is 1.96 errors to either
 * side. Pure functions.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_ESTIMATE_H
#define MEMTRACED_REPORT_VIEW_VIEW_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

struct model;
struct model_process;
struct record_totals;

/* Below it a normal distribution is a poor likeness of Poisson's: reports say how few there are. */
#define VIEW_FEW_SAMPLES 10

/* Of live bytes and live blocks. */
struct view_estimate {
	uint64_t interval; /* bytes; 0: there is no estimate, and nothing else is set */
	uint64_t samples;
	uint64_t ci95_bytes, ci95_blocks; /* to either side */
};

/* What is counted in one place, as records have it (record_site, record_totals). */
struct view_sampled {
	int64_t live_bytes;
	uint64_t blocks_variance; /* of live_blocks */
	uint64_t allocs, bytes;
};

/* With `interval` 0 all is 0. Where nothing is live, three samples are what may be missed. */
struct view_estimate view_estimate(uint64_t interval, const struct view_sampled *sampled);
struct view_estimate view_estimate_totals(const struct record_totals *totals);

/* Are all of a run's figures estimates, those of one image, or those of any? */
bool view_is_sampled(const struct model *model);
bool view_image_is_sampled(const struct model *model, const struct model_process *image);
bool view_has_estimates(const struct model *model);

#endif
