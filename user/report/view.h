/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A read-only view of model and symbols for one report: processes in the order of DESIGN.md section
 * 12, each with its sites merged (the same places have many stack ids: one for every time that code
 * was loaded), resolved, filtered and sorted. Made anew for each report; writers only read it.
 */
#ifndef MEMTRACED_REPORT_VIEW_H
#define MEMTRACED_REPORT_VIEW_H

#include "base/cleanup.h"
#include "model/model.h"
#include "report/report_opts.h"
#include "report/symbols.h"
#include "report/view_site.h"

struct view;

/*
 * Model and symbols must outlive the view and not change meanwhile. `opts` is copied. 0 or
 * -ENOMEM.
 */
int view_new(const struct model *model, struct symbols *symbols, const struct report_opts *opts,
	     struct view **ret_view);
/* NULL is legal. */
void view_free(struct view *view);
DEFINE_CLEANUP(struct view, view_free)

const struct model *view_model(const struct view *view);
const struct report_opts *view_opts(const struct view *view);
/* CLOCK_MONOTONIC ns of the state shown. */
uint64_t view_now_ns(const struct view *view);

/*
 * The newest images of the roots come first, then those of other processes by start; images that an
 * exec replaced stand right after their successor, if they allocated anything themselves.
 */
size_t view_n_processes(const struct view *view);
const struct view_process *view_process(const struct view *view, size_t index);

/* Nothing was lost in the whole run; false before the first cut. */
bool view_is_exact(const struct view *view);

#endif
