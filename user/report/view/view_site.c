/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_site.h"

int64_t view_site_weight(const struct view_site *site, enum option_sort sort)
{
	switch (sort) {
	case SORT_BYTES:
		return site->live_bytes;
	case SORT_COUNT:
		return site->live_blocks;
	case SORT_GROWTH:
		return site->growth_bytes;
	case SORT_PEAK:
		return site->peak_bytes;
	case SORT_TEMPORARY:
		return (int64_t)view_site_temporary(site);
	}
	return site->live_bytes;
}

enum option_sort view_site_quantity(enum option_sort sort)
{
	return sort == SORT_PEAK || sort == SORT_TEMPORARY ? sort : SORT_BYTES;
}

uint64_t view_site_mean_size(const struct view_site *site)
{
	if (site->allocs > 0)
		return site->bytes / site->allocs;
	if (site->live_blocks > 0 && site->live_bytes >= 0)
		return (uint64_t)site->live_bytes / (uint64_t)site->live_blocks;
	return VIEW_UNKNOWN;
}
