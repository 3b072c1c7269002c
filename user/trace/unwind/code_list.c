/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/unwind/code_list.h"

#include "base/vec.h"

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
	return partition_point(list->maps.len, i, end_of(&list->maps.data[i]) <= addr);
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

static void advance(struct code_numbers *numbers)
{
	numbers->merged++;
	numbers->ahead >>= 1;
}

void code_numbers_add(struct code_numbers *numbers, uint32_t number)
{
	if ((int32_t)(number - numbers->merged) <= 0)
		return;
	while (number - numbers->merged > ABI_UNWIND_RECENT && numbers->ahead)
		advance(numbers);
	if (number - numbers->merged > ABI_UNWIND_RECENT)
		numbers->merged = number - ABI_UNWIND_RECENT;
	numbers->ahead |= 1ULL << (number - numbers->merged - 1);
	while (numbers->ahead & 1)
		advance(numbers);
}
