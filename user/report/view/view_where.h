/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which sites --where leaves in a view. For view.c and diff.c.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_WHERE_H
#define MEMTRACED_REPORT_VIEW_VIEW_WHERE_H

#include "config/where.h"
#include "model/ended.h"
#include "report/view/view_site.h"

/* Is it true of the site? Symbols must be settled. */
bool view_where_holds(const struct where *where, const struct view_process *process,
		      const struct view_site *site);

/* Of sums of processes that ended nothing is known but the name. */
bool view_where_holds_ended(const struct where *where, const struct model_ended *ended);

/* Takes the process's other sites out, and counts them; symbols must be settled. */
void view_where_apply(const struct where *where, struct view_process *process);

#endif
