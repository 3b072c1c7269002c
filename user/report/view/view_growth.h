/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verdicts on how sites and processes grow, from the series and survivors that a view has.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_GROWTH_H
#define MEMTRACED_REPORT_VIEW_VIEW_GROWTH_H

#include "report/view/view_site.h"

/*
 * Sets has_growth and growth, if there are samples of least_span_ns. The process's are judged from
 * all its sites, those left out, too.
 */
void view_judge_site(const struct view_timeline *timeline, uint64_t least_span_ns,
		     struct view_site *site);
void view_judge_process(struct view_process *process, uint64_t least_span_ns,
			const uint64_t born_bytes[GROWTH_BIRTHS]);

#endif
