/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of a view that formats of one process are about: those that allocated something.
 * Of several images with one pid it is the one that comes first in the view, the newest.
 */
#ifndef MEMTRACED_REPORT_ONE_PROCESS_H
#define MEMTRACED_REPORT_ONE_PROCESS_H

#include "report/view/view.h"

/* The place of the first such process from `index` on; view_n_processes(view): there is none. */
size_t one_process_from(const struct view *view, size_t index);

/* Images of the same pid that allocated, too, and have to be left out. */
size_t one_process_others(const struct view *view, const struct view_process *process);

/* What it executes, with its arguments where these are known; "unknown" if nothing is. */
const char *one_process_command(const struct view *view, const struct view_process *process);

/* When what the view has of it was so, since the beginning of the run. */
uint64_t one_process_end_ns(const struct view *view, const struct view_process *process);

/*
 * Of a time since the beginning of the run, that since the process began, or memtraced came to it;
 * and milliseconds.
 */
uint64_t one_process_own_ns(const struct view *view, const struct view_process *process,
			    uint64_t time_ns);
uint64_t one_process_own_ms(const struct view *view, const struct view_process *process,
			    uint64_t time_ns);

#endif
