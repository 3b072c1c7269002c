/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a view as stack paths, below a root for each process. For writers.
 */
#ifndef MEMTRACED_REPORT_FLAME_FLAME_STACKS_H
#define MEMTRACED_REPORT_FLAME_FLAME_STACKS_H

#include "report/flame/stack_paths.h"
#include "report/view/view.h"

/*
 * Adds all samples of the view with their weights as values of that side. Where runs are compared,
 * processes go by their names, since their pids differ: `with_pid` is false. 0 or -ENOMEM.
 */
int flame_stacks_add(struct stack_paths *paths, const struct view *view, unsigned int side,
		     bool with_pid);

/* "Heap of server (pid 42) and 3 more processes" */
void flame_stacks_title(const struct view *view, struct strbuf *out);

#endif
