/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which frame of its stack a site is named by: the innermost outside allocators and their wrappers
 * (symbol/wrappers.h). Decided here for all reports; view_stack_name() tells it. For view.c.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_NAMES_H
#define MEMTRACED_REPORT_VIEW_VIEW_NAMES_H

#include "report/view/view_counts.h"
#include "report/view/view_site.h"

/*
 * Names the sites of all processes, and the stacks of events. `patterns` of further wrappers
 * (--wrapper) end with NULL; NULL: none. Symbols must be settled. 0 or -ENOMEM.
 */
int view_names_set(char *const *patterns, struct view_process *processes, size_t n_processes,
		   struct view_counts *counts);

#endif
