/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_estimate.h"

#include "model/model.h"

#include <math.h>

#define ERRORS_OF_95 1.96
/* The chance to see nothing where three samples are to be expected is exp(-3), 5 %. */
#define MISSED_SAMPLES 3

static uint64_t margin(double variance)
{
	return (uint64_t)ceil(ERRORS_OF_95 * sqrt(variance));
}

struct view_estimate view_estimate(uint64_t interval, const struct view_sampled *sampled)
{
	uint64_t live = sampled->live_bytes > 0 ? (uint64_t)sampled->live_bytes : 0;
	struct view_estimate estimate = { .interval = interval };

	if (!interval)
		return estimate;
	estimate.samples = live / interval;
	if (estimate.samples > 0) {
		estimate.ci95_bytes = margin((double)interval * (double)live);
		estimate.ci95_blocks = margin((double)sampled->blocks_variance);
		return estimate;
	}
	estimate.ci95_bytes = MISSED_SAMPLES * interval;
	if (sampled->bytes > 0)
		estimate.ci95_blocks =
			(uint64_t)ceil((double)estimate.ci95_bytes * (double)sampled->allocs /
				       (double)sampled->bytes);
	return estimate;
}

struct view_estimate view_estimate_totals(const struct record_totals *totals)
{
	const struct view_sampled sampled = {
		.live_bytes = totals->live_bytes,
		.blocks_variance = totals->blocks_variance,
		.allocs = totals->allocs,
		.bytes = totals->bytes,
	};

	return view_estimate(totals->sample_interval, &sampled);
}

bool view_is_sampled(const struct model *model)
{
	const struct record_run *run = model_run(model);

	return run && run->sampled;
}

bool view_image_is_sampled(const struct model *model, const struct model_process *image)
{
	return view_is_sampled(model) || image->depth == RECORD_DEPTH_SAMPLED;
}

bool view_has_estimates(const struct model *model)
{
	for (size_t i = 0; i < model_n_depth_changes(model); i++)
		if (model_depth_change(model, i)->depth == RECORD_DEPTH_SAMPLED)
			return true;
	return view_is_sampled(model);
}
