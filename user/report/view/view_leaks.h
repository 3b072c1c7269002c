/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a view holds of leak checks: the latest of a process, and what became of its sites' blocks.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_LEAKS_H
#define MEMTRACED_REPORT_VIEW_VIEW_LEAKS_H

#include "report/leak/leak_result.h"
#include "report/report_opts.h"
#include "report/view/view_resolve.h"
#include "report/view/view_site.h"

/* Sets the process's check, if there was one, and its sites' classes. 0 or -ENOMEM. */
int view_leaks_init(const struct view_resolver *resolver, const struct report_opts *opts,
		    struct view_process *process);

#endif
