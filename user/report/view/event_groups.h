/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of an event as a flat profile: summed by the function, line, file or object of their
 * frames, or by process (--group-by). Pure functions of the view. For tables.
 */
#ifndef MEMTRACED_REPORT_VIEW_EVENT_GROUPS_H
#define MEMTRACED_REPORT_VIEW_EVENT_GROUPS_H

#include "base/interns.h"
#include "base/vec.h"
#include "config/options.h"
#include "report/view/view_counts.h"

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
