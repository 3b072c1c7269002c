/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sites of one process for a view: stacks resolved to places, sites with the same places
 * merged, then filtered and sorted. Used by view.c alone.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_COLLECT_H
#define MEMTRACED_REPORT_VIEW_VIEW_COLLECT_H

#include "report/report_opts.h"
#include "report/view/symbols.h"
#include "report/view/view_site.h"

struct view_resolver;

/*
 * Fills sites, n_sites and what was left out of a process whose image is set. The pieces of their
 * stacks must outlive them. 0 or -ENOMEM; on an error there are no sites.
 */
int view_collect(const struct view_resolver *resolver, const struct report_opts *opts,
		 struct pieces *pieces, struct view_process *process);

void view_collect_free(struct view_site *sites, size_t n);

/*
 * Races and losses can leave a count of what is live below zero, which no reader takes for a
 * quantity: it is 0 then, and the process is not exact.
 */
static inline void view_clamp(int64_t *value, bool *exact)
{
	if (*value >= 0)
		return;
	*value = 0;
	*exact = false;
}

#endif
