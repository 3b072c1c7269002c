/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What cuts say of one process: totals, sites, wrong uses of its heap, where blocks are freed. What
 * the cut that is being read says replaces what the latest one said, as a whole, at its end. Part
 * of model/process.c's processes.
 */
#ifndef MEMTRACED_MODEL_PROCESS_VALUES_H
#define MEMTRACED_MODEL_PROCESS_VALUES_H

#include "base/vec.h"
#include "model/image.h"

struct values {
	VEC(struct model_site) sites;
	VEC(struct record_heap_error) errors;
	VEC(struct record_free_pair) pairs;
};

struct process_values {
	struct values latest;
	struct values next; /* of the cut that is being read */
	bool next_has_totals;
	struct record_totals next_totals;
};

void process_values_done(struct process_values *values);

/* Of the cut that is being read; `comm` is kept. 0 or -ENOMEM. */
void process_values_totals(struct process_values *values, const struct record_totals *record,
			   const char *comm);
int process_values_site(struct process_values *values, const struct record_site *record);
int process_values_error(struct process_values *values, const struct record_heap_error *record);
int process_values_free_pair(struct process_values *values, const struct record_free_pair *record);

/* The cut is whole: what it said is the image's from now on. */
void process_values_commit(struct process_values *values, struct model_process *image);
/* The cut was not read to its end. */
void process_values_forget(struct process_values *values);
/* The process is in no cut any more: it ended before. */
void process_values_rest(struct process_values *values);

#endif
