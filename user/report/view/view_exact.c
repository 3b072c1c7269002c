/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_exact.h"

#include "report/view/view_estimate.h"

#include <string.h>

bool view_is_cut_off(const struct model *model)
{
	const struct record_coverage *coverage = model_coverage(model);

	for (size_t i = 0; coverage && i < coverage->n_losses; i++)
		if (strcmp(coverage->losses[i].cause, RECORD_CAUSE_CUT_OFF) == 0)
			return true;
	return false;
}

bool view_losses_attributed(const struct model *model)
{
	const struct record_coverage *coverage = model_coverage(model);
	uint64_t lost = 0, attributed = 0;

	for (size_t i = 0; coverage && i < coverage->n_losses; i++)
		if (!record_loss_spares_totals(coverage->losses[i].cause))
			lost += coverage->losses[i].count;
	for (size_t i = 0; i < model_n_processes(model); i++)
		attributed += model_process(model, i)->totals.lost;
	for (size_t i = 0; i < model_n_ended(model); i++)
		attributed += model_ended(model, i)->totals.lost;
	/* Samples leave nobody exact. */
	return lost > 0 && lost <= attributed && !view_is_sampled(model);
}

bool view_saw_all(const struct model *model, const struct model_process *image)
{
	const struct record_coverage *coverage = model_coverage(model);

	return coverage && image->depth == RECORD_DEPTH_EXACT &&
	       (coverage->exact || view_losses_attributed(model)) && image->totals.lost == 0 &&
	       image->totals.missed_frees == 0;
}
