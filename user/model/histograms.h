/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The histograms that were asked for, each with its groups' counts at the latest cut. Part of the
 * model; counts only grow, so a group keeps its last ones when a later cut does not name it.
 */
#ifndef MEMTRACED_MODEL_HISTOGRAMS_H
#define MEMTRACED_MODEL_HISTOGRAMS_H

#include "base/cleanup.h"
#include "model/strings.h"
#include "trace/record/record.h"

/* One group: a comm, a pid, or everything (key NULL). Arrays and key belong to the model. */
struct model_histogram {
	struct record_histogram asked;
	const struct record_hist_counts *groups; /* in order of appearance */
	size_t n_groups;
};

struct histograms;

/* `strings` must outlive the histograms. */
int histograms_new(struct strings *strings, struct histograms **ret_histograms);
/* NULL is legal. */
void histograms_free(struct histograms *histograms);
DEFINE_CLEANUP(struct histograms, histograms_free)

/* 0, -ENOMEM, or -EPROTO for an id that was announced before. */
int histograms_add(struct histograms *histograms, const struct record_histogram *record);

/*
 * A cut's counts replace the group's when the cut ends. 0, -ENOMEM, or -EPROTO for a histogram that
 * was never announced.
 */
void histograms_cut_begin(struct histograms *histograms);
int histograms_cut_counts(struct histograms *histograms, const struct record_hist_counts *record);
int histograms_cut_end(struct histograms *histograms);

size_t histograms_count(const struct histograms *histograms);
const struct model_histogram *histograms_get(const struct histograms *histograms, size_t index);

#endif
