/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles that are pushed: of one process, and of one kind, so that a server can tell what is a
 * level (heap) from what is to be added up (allocs, cpu: what came since the profile before).
 */
#ifndef MEMTRACED_REPORT_PROFILE_PART_H
#define MEMTRACED_REPORT_PROFILE_PART_H

#include "config/push_targets.h"
#include "report/samples.h"

#include <stdio.h>

#define PROFILE_PART_TYPES 4 /* values of each sample, at most */

struct profile_part {
	enum push_profile kind; /* PUSH_CPU and PUSH_GROWTH of views of such jobs */
	const struct view_process *process;
	const struct baseline *base; /* NULL: all since the beginning */
};

struct profile_part_type {
	const char *type, *unit;
};

/*
 * Names and units of a sample's values, as Go's profiles have them, and how many there are: those
 * of mappings come after those of the heap.
 */
const struct profile_part_type *profile_part_types(enum push_profile kind);
size_t profile_part_n_types(enum push_profile kind);

/* Is the value of the sample's class? The others are 0. */
bool profile_part_has(const struct sample *sample, size_t type);

/* False: the sample has nothing for this profile. All are set. */
bool profile_part_values(const struct view *view, const struct profile_part *part,
			 const struct sample *sample, int64_t values[PROFILE_PART_TYPES]);

/* When it begins and for how long it is, UNIX time; a level has no length. */
struct profile_part_time {
	uint64_t start_ns, length_ns;
};
struct profile_part_time profile_part_time(const struct view *view,
					   const struct profile_part *part);

/*
 * What of its second value each sample stands for: nanoseconds of CPU time, bytes of so many small
 * pages, or bytes between two samples of a process that shows samples of its allocations; 1: every
 * allocation counts.
 */
uint64_t profile_part_period(const struct view *view, const struct profile_part *part);

/* As samples_of_classes, of that process alone. */
int profile_part_each(const struct view *view, const struct profile_part *part, sample_fn fn,
		      void *userdata);

/*
 * As pprof's format: gzipped. Its samples have no labels but their class, where that is mmap:
 * servers make series of these. 1; 0: it would have no samples, and is of no use; -ENOMEM or -EIO.
 */
int pprof_write_part(const struct view *view, const struct profile_part *part, FILE *file);

/*
 * What the samples of a run had at an earlier moment, so that a profile can hold what came since:
 * servers add up what they are sent. Plain data, independent of the view that it was taken of.
 */
struct baseline;

/* Of all processes of the view. 0 or -ENOMEM. */
int baseline_new(const struct view *view, struct baseline **ret_baseline);
void baseline_free(struct baseline *baseline); /* NULL is legal */
DEFINE_CLEANUP(struct baseline, baseline_free)

/* CLOCK_MONOTONIC ns. */
uint64_t baseline_time_ns(const struct baseline *baseline);

#endif
