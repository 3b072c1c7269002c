/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which frame of its stack a site is named by: the innermost outside allocators and their wrappers
 * (symbol/wrappers.h). So is the stack of a page fault; that of another event is named by its
 * innermost frame, or by what calls the functions of --wrapper. Decided here for all reports;
 * view_stack_name() tells it. For view.c, whose processes and events it is of.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_NAMES_H
#define MEMTRACED_REPORT_VIEW_VIEW_NAMES_H

#include "report/view/view_counts.h"
#include "report/view/view_site.h"

struct view_names;

/* What has names. Borrowed. */
struct view_named {
	struct view_process *processes;
	size_t n_processes;
	struct view_counts *counts;
};

/*
 * Names the sites of all processes, and the stacks of events. `patterns` of further wrappers
 * (--wrapper) end with NULL; NULL: none; borrowed. Symbols must be settled. 0 or -ENOMEM.
 */
int view_names_new(char *const *patterns, const struct view_named *named,
		   struct view_names **ret_names);
/* NULL is legal. */
void view_names_free(struct view_names *names);
DEFINE_CLEANUP(struct view_names, view_names_free)

/*
 * Names all anew: a function is a wrapper also where those of the same name have shown themselves
 * to be one in `other`. 0 or -ENOMEM.
 */
int view_names_learn(struct view_names *names, const struct view_names *other,
		     const struct view_named *named);

#endif
