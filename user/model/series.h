/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What processes and sites held over the run, at bounded memory: samples on one time axis for all,
 * of which every second is dropped when there are SERIES_POINTS. Fed by the model with the records
 * of samples, read by reports. One thread.
 *
 * Memory: 56 bytes a point of a process, 8 a point of a site: 12 MB at most.
 */
#ifndef MEMTRACED_MODEL_SERIES_H
#define MEMTRACED_MODEL_SERIES_H

#include "base/cleanup.h"
#include "trace/record/image.h"
#include "trace/record/record.h"

#define SERIES_POINTS 120
#define SERIES_PROCESSES 1024 /* that came first and are not forgotten; others have no series */
#define SERIES_SITES 4096     /* then the smaller half makes room */

struct series;

struct series_process {
	size_t first, n; /* points, from the sample `first` on */
	const struct record_sample_process *points;
};

struct series_site {
	size_t first, n;
	const int64_t *live_bytes;
	bool cut; /* it was there before, but was too small to be followed */
};

int series_new(struct series **ret_series);
void series_free(struct series *series); /* NULL is legal */
DEFINE_CLEANUP(struct series, series_free)

/* Each takes in the record of its name: 0, -ENOMEM, or -EPROTO outside of a sample. */
int series_begin(struct series *series, const struct record_sample *record);
int series_add_process(struct series *series, const struct record_sample_process *record);
int series_add_site(struct series *series, const struct record_sample_site *record);
int series_end(struct series *series, const struct record_sample_end *record);

/* These processes, ascending, have no series any more: there is room for others. 0 or -ENOMEM. */
int series_forget(struct series *series, const image_t *images, size_t n);

/* Times of all samples, ascending. Valid, as all of the below, until the next record. */
const uint64_t *series_times(const struct series *series, size_t *ret_n);
/* How often every second sample was dropped: so often doubled is the interval between them. */
unsigned int series_halvings(const struct series *series);
/* At the latest sample: sites with live blocks that were too small to be in it. */
uint64_t series_left_out(const struct series *series);
/* At the latest sample: processes that ran and have no series, as there was no room for it. */
uint64_t series_processes_left_out(const struct series *series);

/* False: there is none. */
bool series_of_process(const struct series *series, image_t image, struct series_process *ret);
bool series_of_site(const struct series *series, image_t image, uint16_t fn, uint64_t stack,
		    struct series_site *ret);

#endif
