/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_coverage.h"

#include "report/view/symbols.h"
#include "report/view/view_estimate.h"

#include <errno.h>
#include <string.h>

int view_coverage_init(const struct model *model, const struct symbols *symbols, uint64_t others,
		       struct view_coverage *ret_coverage)
{
	const struct record_coverage *known = model_coverage(model)->at_cut;
	uint64_t unread = symbols_unread(symbols), left_out = model_regions_left_out(model);
	struct record_loss *losses;
	size_t n = known ? known->n_losses : 0;

	*ret_coverage = (struct view_coverage){ .is_known = known != NULL };
	if (!known)
		return 0;
	losses = calloc(n + 3, sizeof(*losses));
	if (!losses)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		losses[i] = known->losses[i];
	if (unread > 0)
		losses[n++] = (struct record_loss){ RECORD_CAUSE_UNREAD, unread };
	if (others > 0)
		losses[n++] = (struct record_loss){ RECORD_CAUSE_PLACES, others };
	if (left_out > 0)
		losses[n++] = (struct record_loss){ RECORD_CAUSE_REGIONS, left_out };
	ret_coverage->losses = losses;
	ret_coverage->coverage = *known;
	ret_coverage->coverage.losses = losses;
	ret_coverage->coverage.exact &= left_out == 0;
	ret_coverage->coverage.n_losses = n;
	return 0;
}

void view_coverage_done(struct view_coverage *coverage)
{
	free(coverage->losses);
	coverage->losses = NULL;
}

bool view_is_cut_off(const struct model *model)
{
	const struct record_coverage *coverage = model_coverage(model)->at_cut;

	for (size_t i = 0; coverage && i < coverage->n_losses; i++)
		if (strcmp(coverage->losses[i].cause, RECORD_CAUSE_CUT_OFF) == 0)
			return true;
	return false;
}

bool view_losses_attributed(const struct model *model)
{
	const struct record_coverage *coverage = model_coverage(model)->at_cut;
	uint64_t lost = 0, attributed = 0;

	for (size_t i = 0; coverage && i < coverage->n_losses; i++)
		if (!record_loss_spares_totals(coverage->losses[i].cause))
			lost += coverage->losses[i].count;
	for (size_t i = 0; i < model_n_processes(model); i++)
		attributed += model_process(model, i)->totals.lost;
	for (size_t i = 0; i < model_ended(model)->list.len; i++)
		attributed += model_ended(model)->list.data[i].totals.lost;
	/* With samples no process is exact. */
	return lost > 0 && lost <= attributed && !view_is_sampled(model);
}

bool view_saw_all(const struct model *model, const struct model_process *image)
{
	const struct record_coverage *coverage = model_coverage(model)->at_cut;

	return coverage && image->depth == RECORD_DEPTH_EXACT &&
	       (coverage->exact || view_losses_attributed(model)) && image->totals.lost == 0 &&
	       image->totals.missed_frees == 0;
}
