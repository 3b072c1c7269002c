/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites summed by what they have in common (--group-by): those of all processes of a view, of the
 * class that is shown (view_class_shown), but by class, of both; or those of two runs (diff.h). And
 * the stacks of an event as a flat profile: summed by the function, line, file or object of their
 * frames, or by process. Pure functions of the view. For tables.
 */
#ifndef MEMTRACED_REPORT_VIEW_SITE_GROUPS_H
#define MEMTRACED_REPORT_VIEW_SITE_GROUPS_H

#include "base/interns.h"
#include "base/vec.h"
#include "config/options.h"
#include "report/view/view.h"
#include "report/view/view_counts.h"

/* The numbers of a site, or of several. */
struct site_sums {
	int64_t live_bytes, live_blocks, peak_bytes; /* each site's at its own process's peak */
	uint64_t allocs, bytes, temporary;
	struct view_estimate estimate;
};

struct site_sums site_sums_of(const struct view_site *site);
void site_sums_add(struct site_sums *to, const struct site_sums *from);
/* The number that is asked to be sorted by. */
int64_t site_sums_value(const struct site_sums *sums, enum option_sort sort);

#define SITE_GROUP_SIDES 2 /* of one run all are side 0 */

struct site_group {
	const char *name; /* as it came, not made safe for a terminal */
	size_t n_sites;
	struct site_sums sides[SITE_GROUP_SIDES];
	bool exact; /* those of all its processes are */
};

/* Zero-initialised is empty. */
struct site_groups {
	VEC(struct site_group) list;
	struct interns names; /* of the list, by their numbers until it is sorted */
};

/* What a site is summed under, by `opts->group_by`. */
void site_group_name(struct strbuf *name, const struct view_process *process,
		     const struct view_site *site, const struct report_opts *opts);

/* The group of that name, made when it is new; until the next is made. 0 or -ENOMEM. */
int site_groups_get(struct site_groups *groups, const struct strbuf *name,
		    struct site_group **ret_group);

/*
 * By the view's group_by, which is not GROUP_BY_SITE, in the order of the report's sort, the
 * largest first. 0 or -ENOMEM; released in both cases.
 */
int site_groups_make(const struct view *view, struct site_groups *ret_groups);
void site_groups_done(struct site_groups *groups);

/* One line of an event's flat profile. */
struct event_group {
	const char *name; /* as it came, not made safe for a terminal */
	uint64_t self;	  /* view_event_value of the stacks whose innermost frame it is */
	uint64_t total;	  /* of those that it is in, each once */
	size_t last;	  /* the index of the stack that was added last, and 1 */
};

struct event_groups {
	VEC(struct event_group) list; /* by self, then total, the largest first */
	struct interns names;	      /* of the list, by their numbers until it is sorted */
};

/*
 * `by` is options_groups_stacks(); full: names, as in report_opts. 0 or -ENOMEM; released in both
 * cases.
 */
int event_groups_make(const struct view_event *event, enum group_by by, bool full,
		      struct event_groups *ret_groups);
void event_groups_done(struct event_groups *groups);

#endif
