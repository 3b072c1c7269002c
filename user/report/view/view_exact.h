/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether what is known of a process is all that there was, by what the model knows of losses.
 */
#ifndef MEMTRACED_REPORT_VIEW_VIEW_EXACT_H
#define MEMTRACED_REPORT_VIEW_VIEW_EXACT_H

#include "model/model.h"

/* Is every lost event some process's? Others make the totals of all processes doubtful. */
bool view_losses_attributed(const struct model *model);

/* Is it of a recording without an end, so that all is as of some moment before? */
bool view_is_cut_off(const struct model *model);

/* Were all events of this process seen, as far as anybody knows? */
bool view_saw_all(const struct model *model, const struct model_process *image);

#endif
