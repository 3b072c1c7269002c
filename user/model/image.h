/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What readers of the model see of a process image. Plain data, owned by the model.
 */
#ifndef MEMTRACED_MODEL_IMAGE_H
#define MEMTRACED_MODEL_IMAGE_H

#include "trace/record/record.h"

struct regions;

struct model_site {
	struct record_site values; /* at the latest cut that the process was in */
	int64_t growth_bytes; /* live bytes gained since the cut before, or in all at the first */
};

/* A process image: exec begins a new one. */
struct model_process {
	image_t id;
	uint32_t pid, ppid;
	image_t parent_id, prev_id, next_id; /* next: the image that replaced this one */
	bool known; /* false: the record of its beginning was lost, only its number is known */
	bool root, inherits;
	enum record_depth depth;
	uint64_t start_ns;
	uint32_t cuts;	  /* that were begun when its beginning became known */
	uint32_t n_cuts;  /* that have ended since then */
	const char *comm; /* "" when unknown */
	const char *exe;  /* NULL when unknown */
	uint32_t kinds;	  /* that its code has been of: bits by enum program_kind */
	char *command;	  /* with its arguments, quoted for a shell; NULL when unknown */

	bool ended;
	enum record_end how;
	int end_value;
	bool oom, oom_unknown;
	uint64_t end_ns;

	bool has_totals; /* false: it was in no cut yet */
	struct record_totals totals;
	const struct model_site *sites;
	size_t n_sites;
	const struct record_heap_error *errors; /* at that cut */
	size_t n_errors;
	const struct record_free_pair *free_pairs; /* at that cut, by --free-stacks */
	size_t n_free_pairs;
	bool has_fault; /* it was about to be killed for what it did itself */
	struct record_fault fault;
	bool has_death; /* who killed it is known */
	struct record_death death;
	const struct regions *regions; /* NULL: it never used mmap */
	bool has_resident;	       /* false: not read while it ran */
	bool has_mapped;	       /* or at nothing but resident.mapped and inaccessible */
	struct record_resident resident;
};

#endif
