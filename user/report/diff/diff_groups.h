/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of a diff, summed by what they have in common (--group-by), each by what it is in its
 * own run. For the table.
 */
#ifndef MEMTRACED_REPORT_DIFF_DIFF_GROUPS_H
#define MEMTRACED_REPORT_DIFF_DIFF_GROUPS_H

#include "report/diff/diff.h"

struct diff_group {
	char *name; /* as it came */
	struct diff_values sides[DIFF_SIDES];
	bool exact;
};

struct diff_groups {
	struct diff_group *groups; /* what has changed most comes first */
	size_t n;
};

/* By the diff's group_by, which is not GROUP_BY_SITE. 0 or -ENOMEM; released in both cases. */
int diff_groups_make(const struct diff *diff, struct diff_groups *ret_groups);
void diff_groups_done(struct diff_groups *groups);

#endif
