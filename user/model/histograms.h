/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The histograms that were asked for, each with its groups' counts at the latest cut. Part of the
 * model; counts only grow, so a group keeps its last ones when a later cut does not name it.
 */
#ifndef MEMTRACED_MODEL_HISTOGRAMS_H
#define MEMTRACED_MODEL_HISTOGRAMS_H

#include "base/vec.h"
#include "model/strings.h"
#include "trace/record/record.h"

/* One group: a comm, a pid, or everything (key NULL). Arrays and key belong to the model. */
struct model_histogram {
	struct record_histogram asked;
	VEC(struct record_hist_counts) groups; /* in order of appearance */
};

/* To begin with zero, but for the strings, which must outlive it. */
struct histograms {
	struct strings *strings;
	VEC(struct model_histogram *) list;  /* in the order of their announcement */
	VEC(struct record_hist_counts) next; /* of the cut that is being read */
};

void histograms_done(struct histograms *histograms);

/* 0, -ENOMEM, or -EPROTO for an id that was announced before. */
int histograms_add(struct histograms *histograms, const struct record_histogram *record);

/*
 * A cut's counts replace the group's when the cut ends. 0, -ENOMEM, or -EPROTO for a histogram that
 * was never announced.
 */
void histograms_cut_begin(struct histograms *histograms);
int histograms_cut_counts(struct histograms *histograms, const struct record_hist_counts *record);
int histograms_cut_end(struct histograms *histograms);

#endif
