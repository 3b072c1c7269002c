/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What jobs beside allocations have counted, as of the latest cut: histograms, events and system
 * calls. Parts of the model.
 */
#ifndef MEMTRACED_MODEL_JOB_COUNTS_H
#define MEMTRACED_MODEL_JOB_COUNTS_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "model/strings.h"
#include "trace/record/record.h"

/* --- histograms ------------------------------------------------------------------------------- */

/*
 * The histograms that were asked for, each with its groups' counts at the latest cut. Counts only
 * grow, so a group keeps its last ones when a later cut does not name it.
 */

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

/* --- events ----------------------------------------------------------------------------------- */

/*
 * The events that were asked for: how often each happened on which stack, at the latest cut.
 * Counts only grow, until their process is forgotten.
 */
struct model_event {
	struct record_event asked;
	VEC(struct record_event_count) counts; /* each (image, stack, kernel stack) once */
};

struct event_counts {
	struct strings *strings;
	VEC(struct model_event *) list;	     /* in the order of their announcement */
	struct hashmap places;		     /* of the counts, by what they are told by */
	VEC(struct record_event_count) next; /* of the cut that is being read */
};

/* `strings` must outlive the events. */
void event_counts_init(struct event_counts *ret_events, struct strings *strings);
void event_counts_done(struct event_counts *events);

/* 0, -ENOMEM, or -EPROTO for an id that was announced before. */
int event_counts_add(struct event_counts *events, const struct record_event *record);

/*
 * A cut's counts replace those of the same event and stacks when the cut ends. 0, -ENOMEM, or
 * -EPROTO for an event that was never announced.
 */
void event_counts_cut_begin(struct event_counts *events);
int event_counts_cut_count(struct event_counts *events, const struct record_event_count *record);
int event_counts_cut_end(struct event_counts *events);

/* Forgets the counts of images that are gone; `images` is sorted. */
void event_counts_forget(struct event_counts *events, const image_t *images, size_t n);

/* NULL for an id that was never announced. */
const struct model_event *event_counts_find(const struct event_counts *events, uint32_t id);

/* --- system calls ----------------------------------------------------------------------------- */

/*
 * The system calls of each process, what it did with files and who made the calls, at the latest
 * cut. A process that ended keeps its last values.
 */

/* Of one process image. Arrays and what they point to belong to the model. */
struct model_syscalls {
	image_t image;
	VEC(struct record_syscall) calls;
	VEC(struct record_syscall_file) files;
	VEC(struct record_syscall_stack) stacks;
};

struct process_syscalls;

struct syscalls {
	/* Processes that made any, in the order in which that was first known. */
	VEC(const struct model_syscalls *) list;
	struct strings *strings;
	struct hashmap by_image;
	VEC(struct process_syscalls *) in_cut; /* the one that is being read */
};

/* `strings` must outlive the system calls. */
void syscalls_init(struct syscalls *ret_syscalls, struct strings *strings);
void syscalls_done(struct syscalls *syscalls);

/*
 * A cut replaces everything of the processes that are in it, when it ends; an unfinished one leaves
 * everything as it was. 0 or -ENOMEM.
 */
void syscalls_cut_begin(struct syscalls *syscalls);
int syscalls_cut_call(struct syscalls *syscalls, const struct record_syscall *record);
int syscalls_cut_file(struct syscalls *syscalls, const struct record_syscall_file *record);
int syscalls_cut_stack(struct syscalls *syscalls, const struct record_syscall_stack *record);
int syscalls_cut_end(struct syscalls *syscalls);

#endif
