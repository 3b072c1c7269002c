/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was lost of a run: the coverage of the model's state, regions that it had no room for, and
 * the symbols that could not be read for a view of it; and whether what is known of a process is
 * all that there was. Part of report/view/view.h.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_COVERAGE_H
#define MEMTRACED_REPORT_VIEW_VIEW_COVERAGE_H

#include "model/model.h"

struct symbols;

struct view_coverage {
	struct record_coverage coverage; /* its losses are in `losses` */
	struct record_loss *losses;
	bool is_known; /* the model has a state */
};

/* Once the symbols are settled. `others`: this view's. Strings are the model's. 0 or -ENOMEM. */
int view_coverage_init(const struct model *model, const struct symbols *symbols, uint64_t others,
		       struct view_coverage *ret_coverage);
void view_coverage_done(struct view_coverage *coverage);

/* Is every lost event some process's? Others make the totals of all processes doubtful. */
bool view_losses_attributed(const struct model *model);

/* Is it of a recording without an end, so that all is as of some moment before? */
bool view_is_cut_off(const struct model *model);

/* Were all events of this process seen, as far as anybody knows? */
bool view_saw_all(const struct model *model, const struct model_process *image);

#endif
