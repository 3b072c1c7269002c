/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ranges.h"

#include "base/vec.h"

#include <string.h>

/* The first range that ends at or behind addr. */
static size_t first_ending_from(const struct ranges *ranges, uint64_t addr)
{
	return partition_point(ranges->list.len, i, ranges->list.data[i].end < addr);
}

/* Puts n ranges in the place of those from `first` up to `last`; room for one more is there. */
static void replace(struct ranges *ranges, size_t first, size_t last, const struct range *by,
		    size_t n)
{
	struct range *at = ranges->list.data;

	if (last < ranges->list.len)
		memmove(at + first + n, at + last, (ranges->list.len - last) * sizeof(*at));
	for (size_t i = 0; i < n; i++)
		at[first + i] = by[i];
	ranges->list.len = ranges->list.len - (last - first) + n;
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end)
{
	struct range merged = { start, end };
	size_t first, last;
	int r;

	if (start >= end)
		return 0;
	r = vec_reserve(&ranges->list, ranges->list.len + 1);
	if (r < 0)
		return r;
	first = first_ending_from(ranges, start);
	for (last = first; last < ranges->list.len && ranges->list.data[last].start <= end;
	     last++) {
		if (ranges->list.data[last].start < merged.start)
			merged.start = ranges->list.data[last].start;
		if (ranges->list.data[last].end > merged.end)
			merged.end = ranges->list.data[last].end;
	}
	replace(ranges, first, last, &merged, 1);
	return 0;
}

int ranges_remove(struct ranges *ranges, uint64_t start, uint64_t end)
{
	struct range left[2];
	size_t first, last, n = 0;
	int r;

	if (start >= end)
		return 0;
	r = vec_reserve(&ranges->list, ranges->list.len + 1);
	if (r < 0)
		return r;
	first = first_ending_from(ranges, start);
	for (last = first; last < ranges->list.len && ranges->list.data[last].start < end; last++)
		;
	if (first == last)
		return 0;
	if (ranges->list.data[first].start < start)
		left[n++] = (struct range){ ranges->list.data[first].start, start };
	if (ranges->list.data[last - 1].end > end)
		left[n++] = (struct range){ end, ranges->list.data[last - 1].end };
	replace(ranges, first, last, left, n);
	return 0;
}

int ranges_copy(struct ranges *to, const struct ranges *from)
{
	int r = vec_reserve(&to->list, from->list.len);

	if (r < 0)
		return r;
	if (from->list.len)
		memcpy(to->list.data, from->list.data, from->list.len * sizeof(from->list.data[0]));
	to->list.len = from->list.len;
	return 0;
}

void ranges_done(struct ranges *ranges)
{
	vec_done(&ranges->list);
}
