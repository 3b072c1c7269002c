/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives the sites of a view the places where their blocks were freed. For view.c.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_FREE_PAIRS_H
#define MEMTRACED_REPORT_VIEW_VIEW_FREE_PAIRS_H

#include "report/view/view_resolve.h"
#include "report/view/view_site.h"

/* Of the process's sites, which have none yet. 0 or -ENOMEM. */
int view_free_pairs_init(const struct view_resolver *resolver, struct view_process *process);

#endif
