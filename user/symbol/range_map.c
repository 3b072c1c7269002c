/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/range_map.h"

#include "base/vec.h"

#include <errno.h>

struct range {
	uint64_t start, end, rank, value;
};

struct segment {
	uint64_t start, end, value;
};

void range_map_done(struct range_map *map)
{
	vec_done(&map->ranges);
	vec_done(&map->segments);
}

int range_map_add(struct range_map *map, uint64_t start, uint64_t end, uint64_t rank,
		  uint64_t value)
{
	if (start >= end)
		return -EINVAL;
	return vec_push(&map->ranges, (struct range){ start, end, rank, value });
}

static int compare_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The heap holds the ranges that began before the sweep's position, the highest rank on top. */
static void heap_add(range_vec *heap, struct range range)
{
	size_t i = heap->len++;

	while (i > 0 && heap->data[(i - 1) / 2].rank < range.rank) {
		heap->data[i] = heap->data[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap->data[i] = range;
}

static void heap_drop_top(range_vec *heap)
{
	struct range last = heap->data[--heap->len];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < heap->len) {
		if (child + 1 < heap->len && heap->data[child + 1].rank > heap->data[child].rank)
			child++;
		if (heap->data[child].rank <= last.rank)
			break;
		heap->data[i] = heap->data[child];
		i = child;
	}
	heap->data[i] = last;
}

static int add_segment(struct range_map *map, uint64_t start, uint64_t end, uint64_t value)
{
	struct segment *last =
		map->segments.len ? &map->segments.data[map->segments.len - 1] : NULL;

	if (last && last->end == start && last->value == value) {
		last->end = end;
		return 0;
	}
	return vec_push(&map->segments, (struct segment){ start, end, value });
}

static int sweep_ranges(struct range_map *map, range_vec *heap)
{
	const range_vec *ranges = &map->ranges;
	uint64_t at = 0, next;
	size_t i = 0;
	int r;

	for (;;) {
		while (heap->len && heap->data[0].end <= at)
			heap_drop_top(heap);
		if (!heap->len) {
			if (i == ranges->len)
				return 0;
			at = ranges->data[i].start;
		}
		while (i < ranges->len && ranges->data[i].start <= at)
			heap_add(heap, ranges->data[i++]);
		next = heap->data[0].end;
		if (i < ranges->len && ranges->data[i].start < next)
			next = ranges->data[i].start;
		r = add_segment(map, at, next, heap->data[0].value);
		if (r < 0)
			return r;
		at = next;
	}
}

int range_map_build(struct range_map *map)
{
	range_vec heap = {};
	int r;

	if (map->ranges.len == 0)
		return 0;
	vec_sort(&map->ranges, compare_start);
	r = vec_reserve(&heap, map->ranges.len);
	if (r == 0)
		r = sweep_ranges(map, &heap);
	vec_done(&heap);
	if (r == 0)
		vec_done(&map->ranges);
	return r;
}

bool range_map_find(const struct range_map *map, uint64_t addr, uint64_t *ret_value)
{
	size_t lo = partition_point(map->segments.len, i, map->segments.data[i].end <= addr);

	if (lo == map->segments.len || map->segments.data[lo].start > addr)
		return false;
	*ret_value = map->segments.data[lo].value;
	return true;
}

uint64_t range_map_bytes(const struct range_map *map)
{
	return sizeof(*map) + map->segments.cap * sizeof(map->segments.data[0]);
}
