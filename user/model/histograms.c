/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/histograms.h"

#include <errno.h>

static void counts_done(struct record_hist_counts *counts)
{
	free((void *)counts->buckets);
	free((void *)counts->errors);
}

void histograms_done(struct histograms *histograms)
{
	histograms_cut_begin(histograms);
	vec_done(&histograms->next);
	vec_foreach(&histograms->list, it) {
		vec_foreach(&(*it)->groups, group)
			counts_done(group);
		vec_done(&(*it)->groups);
		free(*it);
	}
	vec_done(&histograms->list);
}

static struct model_histogram *find_histogram(const struct histograms *histograms, uint32_t id)
{
	vec_foreach(&histograms->list, it)
		if ((*it)->asked.id == id)
			return *it;
	return NULL;
}

int histograms_add(struct histograms *histograms, const struct record_histogram *record)
{
	_cleanup_free_ struct model_histogram *histogram = calloc(1, sizeof(*histogram));
	struct record_histogram *asked;
	int r;

	if (!histogram)
		return -ENOMEM;
	if (find_histogram(histograms, record->id))
		return -EPROTO;
	asked = &histogram->asked;
	*asked = *record;
	asked->spec = record->spec ? record->spec : "";
	r = strings_intern_members(histograms->strings, &asked->spec, &asked->unit, &asked->by,
				   NULL);
	if (r == 0)
		r = vec_push(&histograms->list, histogram);
	if (r == 0)
		TAKE_PTR(histogram);
	return r;
}

void histograms_cut_begin(struct histograms *histograms)
{
	vec_foreach(&histograms->next, counts)
		counts_done(counts);
	histograms->next.len = 0;
}

int histograms_cut_counts(struct histograms *histograms, const struct record_hist_counts *record)
{
	struct record_hist_counts counts = *record;
	int r;

	if (!find_histogram(histograms, record->id))
		return -EPROTO;
	r = strings_intern(histograms->strings, record->key, &counts.key);
	if (r < 0)
		return r;
	counts.buckets = array_copy(record->buckets, record->n_buckets, sizeof(*record->buckets));
	counts.errors = array_copy(record->errors, record->n_errors, sizeof(*record->errors));
	r = counts.buckets && counts.errors ? vec_push(&histograms->next, counts) : -ENOMEM;
	if (r < 0)
		counts_done(&counts);
	return r;
}

/* The group takes over the arrays. */
static int replace(struct model_histogram *histogram, struct record_hist_counts *counts)
{
	vec_foreach(&histogram->groups, group) {
		if (group->key != counts->key)
			continue;
		counts_done(group);
		*group = *counts;
		return 0;
	}
	return vec_push(&histogram->groups, *counts);
}

int histograms_cut_end(struct histograms *histograms)
{
	int r = 0;

	for (size_t i = 0; i < histograms->next.len; i++) {
		struct record_hist_counts *counts = &histograms->next.data[i];

		if (r == 0)
			r = replace(find_histogram(histograms, counts->id), counts);
		if (r < 0)
			counts_done(counts);
	}
	histograms->next.len = 0;
	return r;
}
