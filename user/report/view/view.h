/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A read-only view of model and symbols for one report: histograms, events, and processes in the
 * order of DESIGN.md section 12, each with its sites. Stacks are merged (the same places have many
 * ids: one for every time that code was loaded), resolved, filtered and sorted. Made anew for each
 * report; writers only read it.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_H
#define MEMTRACED_REPORT_VIEW_VIEW_H

#include "base/cleanup.h"
#include "model/model.h"
#include "report/report_opts.h"
#include "report/view/symbols.h"
#include "report/view/view_counts.h"
#include "report/view/view_site.h"
#include "report/view/view_syscalls.h"

struct view;

/*
 * Model and symbols must outlive the view and not change meanwhile. `opts` is copied. 0 or
 * -ENOMEM.
 */
int view_new(const struct model *model, struct symbols *symbols, const struct report_opts *opts,
	     struct view **ret_view);
/*
 * Names the sites of both alike: a wrapper that one of them has shown is one in the other. 0 or
 * -ENOMEM.
 */
int view_share_names(struct view *a, struct view *b);
/* NULL is legal. */
void view_free(struct view *view);
DEFINE_CLEANUP(struct view, view_free)

const struct model *view_model(const struct view *view);
const struct report_opts *view_opts(const struct view *view);
/* What was lost; NULL: no state of the counts was read. The view's. */
const struct record_coverage *view_coverage(const struct view *view);
/* CLOCK_MONOTONIC ns of the state shown. */
uint64_t view_now_ns(const struct view *view);
/*
 * The time of day then, as ns since 1970: what the clock showed at the start of the run, and the
 * time since, in which CLOCK_MONOTONIC does not count the sleep of the machine. 0: not known.
 */
uint64_t view_realtime_ns(const struct view *view);

/*
 * The newest images of the roots come first, then those of other processes by start; images that an
 * exec or a change of depth replaced stand right after their successor, if they allocated anything
 * themselves.
 */
size_t view_n_processes(const struct view *view);
/* Images that a change of depth made of one are one. */
size_t view_n_programs(const struct view *view);
const struct view_process *view_process(const struct view *view, size_t index);
/*
 * The one before it of the same program, at another depth, which stands right after it; NULL: the
 * view has none.
 */
const struct view_process *view_before_depth(const struct view *view,
					     const struct view_process *process);

/*
 * False: there are processes, but neither sites nor totals, since the run had other jobs. Of
 * mappings there are sites of that class alone.
 */
bool view_has_allocations(const struct view *view);

/*
 * Of mappings alone: for how long the process was looked at, since what it had mapped before is not
 * known. 0: of another run, or not known.
 */
uint64_t view_looked_at_ns(const struct view *view, const struct view_process *process);

/* It was asked for where blocks are freed. */
bool view_has_frees(const struct view *view);

/* In the order in which they were asked for. */
size_t view_n_histograms(const struct view *view);
const struct view_histogram *view_histogram(const struct view *view, size_t index);
size_t view_n_events(const struct view *view);
const struct view_event *view_event(const struct view *view, size_t index);

/* Of the processes whose system calls were asked for; else of none. */
const struct view_syscalls *view_syscalls(const struct view *view);

/*
 * What a report of stacks is about (report_opts.job): *ret_event is the event, or NULL for
 * allocations; false when the run has no such job.
 */
bool view_job(const struct view *view, const struct view_event **ret_event);

/*
 * The class whose quantities formats show that have one number a stack, and that others show
 * first: the heap, unless the run has mappings alone, no other sites pass --where, or mappings are
 * asked for. A heap's bytes and those of mappings are never one number.
 */
enum view_class view_class_shown(const struct view *view);

/* "dd (pid 4242)", as it came: not made safe for a terminal. */
void view_process_name(const struct model_process *image, struct strbuf *out);

/* Sums of processes that ended long ago. */
size_t view_n_ended(const struct view *view);
const struct model_ended *view_ended(const struct view *view, size_t index);

/* Those that are not in the view, nor in a sum, as --where is true of none of their sites. */
size_t view_n_processes_left_out(const struct view *view);

/* What takes sites out: "--older-than", "--where", or both; for people. */
const char *view_filters(const struct view *view);

/*
 * Nothing was lost in the whole run, and each call of an allocator was counted where these were
 * asked for; false before the first cut. Events may have been sampled.
 */
bool view_lost_nothing(const struct view *view);
/* How true ages are: as the run has it, or as late as the clock came; 0: not known. */
uint64_t view_age_resolution_ns(const struct view *view);
/* That, and not all that it has are estimates of samples. */
bool view_is_exact(const struct view *view);
/* Is nothing in it but events that were sampled? What they stand for is an estimate. */
bool view_has_only_samples(const struct view *view);

#endif
