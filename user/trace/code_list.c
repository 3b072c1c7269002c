/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/code_list.h"

#include <string.h>

void code_list_done(struct code_list *list)
{
	vec_done(&list->maps);
}

int code_list_copy(const struct code_list *from, struct code_list *ret_list)
{
	struct code_list copy = {};
	int r = vec_reserve(&copy.maps, from->maps.len);

	if (r)
		return r;
	if (from->maps.len)
		memcpy(copy.maps.data, from->maps.data,
		       from->maps.len * sizeof(from->maps.data[0]));
	copy.maps.len = from->maps.len;
	*ret_list = copy;
	return 0;
}

static uint64_t end_of(const struct abi_unwind_mapping *map)
{
	return map->start + map->len;
}

/* Index of the first mapping that ends behind addr. */
static size_t first_behind(const struct code_list *list, uint64_t addr)
{
	size_t low = 0, high = list->maps.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (end_of(&list->maps.data[mid]) > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

const struct abi_unwind_mapping *code_list_at(const struct code_list *list, uint64_t addr)
{
	size_t at = first_behind(list, addr);

	if (at == list->maps.len || list->maps.data[at].start > addr)
		return NULL;
	return &list->maps.data[at];
}

int code_list_put(struct code_list *list, const struct abi_unwind_mapping *map)
{
	uint64_t start = map->start, end = end_of(map);
	size_t from = first_behind(list, start), to = from, n = 0;
	struct abi_unwind_mapping now[3]; /* what is left of those it overlaps, and itself */
	int r = vec_reserve(&list->maps, list->maps.len + 2);

	if (r)
		return r;
	while (to < list->maps.len && list->maps.data[to].start < end)
		to++;
	if (to > from && list->maps.data[from].start < start) {
		now[n] = list->maps.data[from];
		now[n++].len = start - list->maps.data[from].start;
	}
	if (map->object)
		now[n++] = *map;
	if (to > from && end_of(&list->maps.data[to - 1]) > end) {
		uint32_t cut = end - list->maps.data[to - 1].start;

		now[n] = list->maps.data[to - 1];
		now[n].start += cut;
		now[n].rel += cut;
		now[n++].len -= cut;
	}
	memmove(list->maps.data + from + n, list->maps.data + to,
		(list->maps.len - to) * sizeof(list->maps.data[0]));
	memcpy(list->maps.data + from, now, n * sizeof(now[0]));
	list->maps.len = list->maps.len - (to - from) + n;
	return 0;
}

/* The same change; an object may have got another number since. */
static bool same(const struct abi_unwind_mapping *a, const struct abi_unwind_mapping *b)
{
	return a->start == b->start && a->len == b->len && !a->object == !b->object;
}

void code_list_drop_seen(struct abi_unwind_space *space, const struct abi_unwind_mapping *seen,
			 size_t n_seen)
{
	size_t n = space->recents < ABI_UNWIND_RECENT ? space->recents : ABI_UNWIND_RECENT;
	uint64_t used = 0;
	size_t kept = 0;

	if (n_seen > CODE_LIST_SEEN)
		n_seen = CODE_LIST_SEEN;
	for (size_t i = 0; i < n; i++) {
		const struct abi_unwind_mapping *recent = &space->recent[i];
		size_t at = 0;

		if (!recent->start)
			continue;
		while (at < n_seen && (used >> at & 1 || !same(recent, &seen[at])))
			at++;
		if (at < n_seen)
			used |= 1ULL << at;
		else
			space->recent[kept++] = *recent;
	}
	memset(space->recent + kept, 0, sizeof(space->recent[0]) * (ABI_UNWIND_RECENT - kept));
	space->recents = kept;
}
