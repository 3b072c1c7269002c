/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What has changed from one run to another: the sites of two views, matched by what they are called
 * (diff_keys.h) and summed over processes of the same program, and the other jobs (diff_jobs.h).
 * Writers of diffs only read it. The views are borrowed, and must be of everything: filters are
 * applied to what was matched.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_H
#define MEMTRACED_REPORT_DIFF_DIFF_H

#include "base/vec.h"
#include "report/diff/diff_jobs.h"
#include "report/diff/diff_keys.h"
#include "report/view/site_groups.h"

struct diff_site {
	enum view_class class;
	size_t places[DIFF_SIDES]; /* that were summed; 0: it was not there, or is not any more */
	struct site_sums sides[DIFF_SIDES];
	/* One of its places, of the later run if that has it, to show its stack by. */
	const struct view_site *site;
	const struct view_process *process;
	unsigned int shown_side;
	size_t program;
	const char *key; /* for an order without chance; until the diff is made */
};

struct diff_program {
	char *name; /* as it came; "old → new" where that differs */
	size_t processes[DIFF_SIDES];
	bool exact[DIFF_SIDES];
	struct site_sums heap[DIFF_SIDES], mmap[DIFF_SIDES];
	/* Of what is mapped: without access (PROT_NONE), and of how many processes it is known. */
	uint64_t inaccessible[DIFF_SIDES];
	size_t n_looked_at[DIFF_SIDES];
	size_t first, n_sites; /* in the diff's sites */
	/* By --where. */
	size_t n_left_out;
	int64_t left_out_bytes; /* what has changed there */
};

/* Is `inaccessible` known of all its processes in this run, if any? */
bool diff_knows_inaccessible(const struct diff_program *program, unsigned int side);

/* A site of one of the views. */
struct diff_member {
	unsigned int side;
	size_t program;
	const struct view_process *process;
	const struct view_site *site;
};

struct diff_run {
	const char *path;
	const struct view *view;
	bool damaged; /* what came behind the damage is not in it */
};

struct diff {
	struct diff_run runs[DIFF_SIDES];
	struct report_opts opts; /* with a width that the columns fit into */
	struct diff_keys *keys;
	/* Those of the later run in its order, then those that are only in the earlier one. */
	VEC(struct diff_program) programs;
	VEC(struct diff_site) sites; /* by program; of one, what has changed most comes first */
	/* What --where leaves, by side, program and site of the views. */
	VEC(struct diff_member) members;
	struct diff_jobs jobs;
};

/* `opts`: sort, top, where, group_by, widths, color and width count; all borrowed. 0 or -ENOMEM. */
int diff_new(const struct diff_run runs[DIFF_SIDES], const struct report_opts *opts,
	     struct diff **ret_diff);
/* NULL is legal. */
void diff_free(struct diff *diff);
DEFINE_CLEANUP(struct diff, diff_free)

/* Did both runs trace allocations? Else there are no programs and no sites. */
bool diff_has_allocations(const struct diff *diff);
/* Is nothing compared, as no job is of both? */
bool diff_is_empty(const struct diff *diff);

/*
 * Jobs with stacks that both runs have: allocations, then events. Formats of one job's stacks are
 * of the one chosen, at first 0; diff_event_shown: NULL is allocations.
 */
size_t diff_n_jobs(const struct diff *diff);
void diff_choose_job(struct diff *diff, size_t job);
/* The mappings beside the heap; diff_choose_job ends it. */
void diff_choose_mappings(struct diff *diff);
const struct diff_event *diff_event_shown(const struct diff *diff);

/* How the quantity has changed that is asked to be sorted by. */
int64_t diff_change(const struct site_sums sides[DIFF_SIDES], enum option_sort sort);

/*
 * What the change can be off, of estimates; of what a run has no sample of, by what may have been
 * missed. A change that is not beyond it may be none.
 */
struct view_estimate diff_estimate(const struct site_sums sides[DIFF_SIDES]);
uint64_t diff_ci95(const struct view_estimate *estimate, enum option_sort sort);
bool diff_significant(int64_t change, uint64_t ci95);

/* Are its peaks sums of several processes', which were at different moments? */
static inline bool diff_peaks_differ(const struct diff_program *program)
{
	return program->processes[DIFF_BEFORE] > 1 || program->processes[DIFF_AFTER] > 1;
}

/* Is the change of the program's numbers exact? */
static inline bool diff_exact(const struct diff_program *program)
{
	return program->exact[DIFF_BEFORE] && program->exact[DIFF_AFTER];
}

/*
 * The places, summed by what they have in common, each by what it is in its own run; what has
 * changed most comes first. By the diff's group_by, which is not GROUP_BY_SITE. 0 or -ENOMEM;
 * released in both cases (site_groups_done).
 */
int diff_groups_make(const struct diff *diff, struct site_groups *ret_groups);

#endif
