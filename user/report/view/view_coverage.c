/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_coverage.h"

#include "report/view/symbols.h"

#include <errno.h>

int view_coverage_init(const struct model *model, const struct symbols *symbols,
		       struct view_coverage *ret_coverage)
{
	const struct record_coverage *known = model_coverage(model);
	uint64_t unread = symbols_unread(symbols), left_out = model_regions_left_out(model);
	struct record_loss *losses;
	size_t n = known ? known->n_losses : 0;

	*ret_coverage = (struct view_coverage){ .is_known = known != NULL };
	if (!known)
		return 0;
	losses = calloc(n + 2, sizeof(*losses));
	if (!losses)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		losses[i] = known->losses[i];
	if (unread > 0)
		losses[n++] = (struct record_loss){ RECORD_CAUSE_UNREAD, unread };
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
