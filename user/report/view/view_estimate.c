/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_estimate.h"

#include "base/saturate.h"
#include "model/model.h"

#include <math.h>

#define ERRORS_OF_95 1.96
/* The chance to see nothing where three samples are to be expected is exp(-3), 5 %. */
#define MISSED_SAMPLES 3
#define FEW_SAMPLES 10

static uint64_t margin(double errors, double variance)
{
	return saturate_u64(ceil(errors * sqrt(variance)));
}

/*
 * An estimate that is off by d to the low side has a variance that is larger by `rate` d: so (d /
 * errors)^2 = variance + rate d. Both solutions' squares are on average this one's.
 */
static uint64_t score_margin(double errors, double variance, double rate)
{
	return margin(errors, variance + errors * errors / 2 * rate * rate);
}

/*
 * How many errors off a peak can be. It is the largest of the estimates of all moments, so not of
 * any one, and the more of what was live has been replaced, by blocks that are sampled anew, the
 * more of them are independent: `turns` times all of it. Where blocks live by chance the estimate's
 * error is an Ornstein-Uhlenbeck process, which passes u in such a time about turns * u * phi(u)
 * times, beside the phi(u) / u of one moment (Cramér and Leadbetter, Stationary and Related
 * Stochastic Processes, 12). u is where both together are what 1.96 leaves to one moment; without
 * turns it is 1.96: of what only grows, the last moment is the peak, whatever was sampled.
 */
static double errors_of_peak(double turns)
{
	const double one = ERRORS_OF_95 * ERRORS_OF_95;
	double square = one;

	for (int i = 0; i < 8; i++) /* it converges: the logarithm is flat */
		square = one + 2 * log(1 + turns * square);
	return sqrt(square);
}

/* Bytes, and the variance of their estimate. */
struct bytes {
	double bytes, variance;
};

static struct bytes bytes_of(uint64_t interval, const struct view_sampled *sampled, double bytes,
			     uint64_t se)
{
	bool is_known = sampled->samples > 0 || sampled->live_samples > 0;
	double variance = is_known ? (double)se * (double)se : (double)interval * bytes;

	return (struct bytes){ bytes, variance };
}

/* A further byte adds `interval` to the variance at most, as one of a small block does. */
static uint64_t bytes_margin(uint64_t interval, const struct view_sampled *sampled,
			     const struct bytes *of, double errors)
{
	double rate = (double)interval;

	if (of->bytes <= 0)
		return MISSED_SAMPLES * interval;
	/* A site's blocks are like those that were seen; others may be small and all be missed. */
	if (sampled->is_site)
		rate = fmin(rate, of->variance / of->bytes);
	return score_margin(errors, of->variance, rate);
}

/* What was live at the peak is as uncertain as what was allocated. */
static uint64_t peak_margin(uint64_t interval, const struct view_sampled *sampled,
			    const struct bytes *live, const struct bytes *allocated)
{
	double peak = (double)saturate_unsigned(sampled->peak_bytes);
	double came = (double)sampled->bytes + (double)saturate_unsigned(sampled->inherited_bytes);
	double turns = came > peak && peak > 0 ? came / peak - 1 : 0;
	const struct bytes *like = allocated->bytes > 0 ? allocated : live;
	struct bytes at_peak = { peak, 0 };

	if (like->bytes > 0)
		at_peak.variance = peak * like->variance / like->bytes;
	return bytes_margin(interval, sampled, &at_peak, errors_of_peak(turns));
}

/* Blocks of the mean size, as far as one is known, in what may have been missed. */
static uint64_t missed_blocks(uint64_t interval, const struct view_sampled *sampled)
{
	double blocks = (double)sampled->allocs, bytes = (double)sampled->bytes;

	if (bytes <= 0) {
		blocks = (double)saturate_unsigned(sampled->live_blocks);
		bytes = (double)saturate_unsigned(sampled->live_bytes);
	}
	if (bytes <= 0)
		return 0;
	return saturate_u64(ceil((double)(MISSED_SAMPLES * interval) * blocks / bytes));
}

/*
 * Of a number of blocks, by the variance that is summed of it. What is missed may be as small as
 * the smallest that was seen, of which one sample stands for `beyond` more: where sizes differ,
 * that is more than the mean.
 */
static uint64_t blocks_margin(uint64_t interval, const struct view_sampled *sampled, double blocks,
			      uint64_t variance, uint64_t beyond)
{
	if (variance && blocks > 0)
		return score_margin(ERRORS_OF_95, (double)variance,
				    fmax((double)beyond, (double)variance / blocks));
	if (sampled->is_site && sampled->samples > 0)
		return 0;
	return missed_blocks(interval, sampled);
}

struct view_estimate view_estimate(uint64_t interval, const struct view_sampled *sampled)
{
	const struct bytes live =
		bytes_of(interval, sampled, (double)saturate_unsigned(sampled->live_bytes),
			 sampled->se_live_bytes);
	const struct bytes allocated =
		bytes_of(interval, sampled, (double)sampled->bytes, sampled->se_bytes);
	double frees = (double)sampled->allocs - (double)saturate_unsigned(sampled->live_blocks);
	struct view_estimate estimate = { .interval = interval };

	if (!interval)
		return estimate;
	estimate.samples = sampled->live_samples ?
				   sampled->live_samples :
				   saturate_unsigned(sampled->live_bytes) / interval;
	estimate.ci95_bytes = bytes_margin(interval, sampled, &live, ERRORS_OF_95);
	estimate.ci95_blocks = blocks_margin(interval, sampled, (double)sampled->live_blocks,
					     estimate.samples ? sampled->blocks_variance : 0,
					     sampled->live_beyond);
	estimate.ci95_allocated_bytes = bytes_margin(interval, sampled, &allocated, ERRORS_OF_95);
	estimate.ci95_allocs = blocks_margin(interval, sampled, (double)sampled->allocs,
					     sampled->allocs_variance, sampled->most_beyond);
	estimate.ci95_frees = blocks_margin(interval, sampled, fmax(frees, 1),
					    sampled->frees_variance, sampled->most_beyond);
	estimate.ci95_peak_bytes = peak_margin(interval, sampled, &live, &allocated);
	return estimate;
}

struct view_estimate view_estimate_totals(const struct record_totals *totals)
{
	const struct view_sampled sampled = {
		.live_bytes = totals->live_bytes,
		.live_blocks = totals->live_blocks,
		.peak_bytes = totals->peak_bytes,
		.inherited_bytes = totals->inherited_bytes,
		.blocks_variance = totals->blocks_variance,
		.allocs_variance = totals->allocs_variance,
		.frees_variance = totals->frees_variance,
		.allocs = totals->allocs,
		.bytes = totals->bytes,
		.se_live_bytes = totals->se_live_bytes,
		.se_bytes = totals->se_bytes,
		.samples = totals->samples,
		.live_samples = totals->live_samples,
		.live_beyond = totals->live_beyond,
		.most_beyond = totals->most_beyond,
	};
	struct view_estimate estimate;

	estimate = view_estimate(totals->sample_interval, &sampled);
	estimate.shown_interval =
		totals->sample_shown ? totals->sample_shown : totals->sample_interval;
	return estimate;
}

struct view_estimate view_estimate_of_none(uint64_t interval, uint64_t blocks, uint64_t bytes)
{
	const struct view_sampled sizes = { .allocs = blocks, .bytes = bytes };
	struct view_estimate estimate = view_estimate(interval, &sizes);

	estimate.ci95_allocated_bytes = estimate.ci95_peak_bytes = estimate.ci95_bytes;
	return estimate;
}

uint64_t view_estimate_ci95(uint64_t interval, int64_t bytes, double variance)
{
	const struct view_sampled sampled = { 0 };
	const struct bytes of = { (double)saturate_unsigned(bytes), variance };

	return interval ? bytes_margin(interval, &sampled, &of, ERRORS_OF_95) : 0;
}

static void add_squares(uint64_t *to, uint64_t other)
{
	*to = saturate_u64(ceil(hypot((double)*to, (double)other)));
}

static void add_facts(struct view_estimate *to, const struct view_estimate *other)
{
	if (other->interval > to->interval)
		to->interval = other->interval;
	if (other->shown_interval > to->shown_interval)
		to->shown_interval = other->shown_interval;
	to->samples += other->samples;
}

void view_estimate_subtract(struct view_estimate *to, const struct view_estimate *other)
{
	add_facts(to, other);
	add_squares(&to->ci95_bytes, other->ci95_bytes);
	add_squares(&to->ci95_blocks, other->ci95_blocks);
	add_squares(&to->ci95_allocated_bytes, other->ci95_allocated_bytes);
	add_squares(&to->ci95_allocs, other->ci95_allocs);
	add_squares(&to->ci95_frees, other->ci95_frees);
	to->ci95_peak_bytes += other->ci95_peak_bytes;
}

/* No number of samples has this margin: its root would be 1.53. */
static bool is_missed(const struct view_estimate *estimate, uint64_t ci95)
{
	return ci95 == MISSED_SAMPLES * estimate->interval;
}

/*
 * Samples of a sum are those of its parts, so that the parts without any make it no less certain. A
 * margin of bytes, which tells whether there are samples, and that of their blocks.
 */
static void add_margins(uint64_t *bytes, uint64_t *blocks, bool missed, uint64_t other_bytes,
			uint64_t other_blocks, bool other_missed)
{
	if (missed) {
		*bytes = other_bytes;
		*blocks = other_blocks;
	} else if (!missed && !other_missed) {
		add_squares(bytes, other_bytes);
		add_squares(blocks, other_blocks);
	}
}

void view_estimate_add(struct view_estimate *to, const struct view_estimate *other)
{
	const struct view_estimate was = *to;

	if (!other->interval)
		return;
	if (!to->interval) {
		*to = *other;
		return;
	}
	add_facts(to, other);
	add_margins(&to->ci95_bytes, &to->ci95_blocks, is_missed(&was, was.ci95_bytes),
		    other->ci95_bytes, other->ci95_blocks, is_missed(other, other->ci95_bytes));
	add_margins(&to->ci95_allocated_bytes, &to->ci95_allocs,
		    is_missed(&was, was.ci95_allocated_bytes), other->ci95_allocated_bytes,
		    other->ci95_allocs, is_missed(other, other->ci95_allocated_bytes));
	add_squares(&to->ci95_frees, other->ci95_frees);
	if (is_missed(&was, was.ci95_peak_bytes))
		to->ci95_peak_bytes = other->ci95_peak_bytes;
	else if (!is_missed(other, other->ci95_peak_bytes))
		to->ci95_peak_bytes += other->ci95_peak_bytes;
}

void view_estimate_add_image(struct view_estimate *to, const struct view_estimate *other,
			     const struct model_process *image)
{
	const struct view_estimate was = *to;

	view_estimate_add(to, other);
	if (!image->inherits || !was.interval || !other->interval ||
	    is_missed(&was, was.ci95_bytes) || is_missed(other, other->ci95_bytes))
		return;
	to->ci95_bytes = was.ci95_bytes + other->ci95_bytes;
	to->ci95_blocks = was.ci95_blocks + other->ci95_blocks;
}

bool view_has_few_samples(const struct view_estimate *estimate)
{
	return estimate->interval && estimate->samples < FEW_SAMPLES && estimate->ci95_bytes > 0;
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

bool view_knows_temporary(const struct model *model)
{
	if (!view_has_estimates(model))
		return true;
	for (size_t i = 0; i < model_n_processes(model); i++) {
		const struct model_process *image = model_process(model, i);

		if (image->has_totals && !view_image_is_sampled(model, image))
			return true;
	}
	return false;
}

bool view_has_estimates(const struct model *model)
{
	for (size_t i = 0; i < model_depths(model)->changes.len; i++)
		if (model_depths(model)->changes.data[i].depth == RECORD_DEPTH_SAMPLED)
			return true;
	return view_is_sampled(model);
}
