/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sites of all processes of a view, summed by what they have in common (--group-by): of the class
 * that is shown (view_class_shown), but by class, of both. Pure functions of the view. For tables.
 */
#ifndef MEMTRACED_REPORT_VIEW_SITE_GROUPS_H
#define MEMTRACED_REPORT_VIEW_SITE_GROUPS_H

#include "report/view/view.h"

struct site_group {
	char *name; /* as it came, not made safe for a terminal */
	size_t n_sites;
	int64_t live_bytes, live_blocks, peak_bytes; /* each site's at its own process's peak */
	uint64_t bytes, allocs, temporary;
	bool exact; /* those of all its processes are */
	struct view_estimate estimate;
};

/* What a site is summed under, by `opts->group_by`. */
void site_group_name(struct strbuf *name, const struct view_process *process,
		     const struct view_site *site, const struct report_opts *opts);

struct site_groups {
	struct site_group *groups; /* in the order of the report's sort, the largest first */
	size_t n;
};

/* By the view's group_by, which is not GROUP_BY_SITE. 0 or -ENOMEM; released in both cases. */
int site_groups_make(const struct view *view, struct site_groups *ret_groups);
void site_groups_done(struct site_groups *groups);

#endif
