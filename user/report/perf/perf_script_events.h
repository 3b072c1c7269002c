/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of an event as perf-script text: as many events as there were, since half of the
 * clients ignore the period. Their times lie evenly between the first and the last of their stack;
 * all together ascend, because one client refuses a file in which a thread's time goes back.
 */
#ifndef MEMTRACED_REPORT_PERF_PERF_SCRIPT_EVENTS_H
#define MEMTRACED_REPORT_PERF_PERF_SCRIPT_EVENTS_H

#include "report/view/view_counts.h"

#include <stdio.h>

/*
 * Memory goes with the stacks, not with their counts. Of more than `most` events (at least 1) each
 * line stands for several, which its period says: counts may be any, and the file must end.
 * 0, -ENOMEM, or -EIO.
 */
int perf_script_events(const struct view_event *event, uint64_t most, FILE *file);

#endif
