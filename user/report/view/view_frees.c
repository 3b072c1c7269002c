/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_frees.h"

#include "base/saturate.h"
#include "report/view/view_resolve.h"

#include <stdlib.h>

void view_frees_done(struct view_frees *frees)
{
	for (size_t i = 0; i < frees->n; i++)
		view_stack_done(&frees->list[i].stack);
	free(frees->list);
	*frees = (struct view_frees){ 0 };
}

uint64_t view_frees_mean_ns(uint64_t total_ns, uint64_t count, uint64_t unknown)
{
	return count > unknown ? total_ns / (count - unknown) : UINT64_MAX;
}

uint64_t view_lifetime_from_ns(size_t bucket)
{
	return bucket == 0 ? 0 : UINT64_C(1) << (RECORD_LIFETIME_SHIFT + bucket - 1);
}

size_t view_free_median(const struct view_free *place)
{
	uint64_t known = place->count - place->unknown, below = 0;

	if (place->count <= place->unknown)
		return RECORD_LIFETIMES;
	for (size_t i = 0; i < RECORD_LIFETIMES; i++) {
		below = saturate_add_u64(below, place->lifetimes[i]);
		if (below >= known - known / 2)
			return i;
	}
	return RECORD_LIFETIMES;
}
