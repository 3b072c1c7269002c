/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/code_map.h"

void code_map_done(struct code_map *map)
{
	vec_done(&map->ranges);
}

const struct code_range *code_map_find(const struct code_map *map, uint64_t addr)
{
	for (size_t i = map->ranges.len; i > 0; i--) {
		const struct code_range *range = &map->ranges.data[i - 1];

		if (addr >= range->start && addr < range->end)
			return range;
	}
	return NULL;
}

int code_map_add(struct code_map *map, const struct code_range *range)
{
	return vec_push(&map->ranges, *range);
}

void code_map_set_object(struct code_map *map, size_t i, struct object *object)
{
	map->ranges.data[i].object = object;
	map->ranges.data[i].unopened = NULL;
}

int code_map_remove(struct code_map *map, code_map_remove_fn remove, void *userdata)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < map->ranges.len; i++) {
		const struct code_range range = map->ranges.data[i];

		r = r < 0 ? r : remove(&range, userdata);
		if (r <= 0)
			map->ranges.data[n++] = range;
	}
	map->ranges.len = n;
	return r < 0 ? r : 0;
}

int code_map_copy(struct code_map *to, const struct code_map *from)
{
	int r = 0;

	vec_foreach(&from->ranges, range)
		if (r == 0)
			r = code_map_add(to, range);
	return r;
}

void code_times_changed(struct code_times *times, uint64_t time_ns)
{
	struct code_changes *changes = time_ns < times->read_ns ? &times->shown : &times->coming;

	if (!changes->first_ns || time_ns < changes->first_ns)
		changes->first_ns = time_ns;
	if (time_ns > changes->last_ns)
		changes->last_ns = time_ns;
}

void code_times_read(struct code_times *times, uint64_t now_ns)
{
	times->read_ns = now_ns;
	times->shown = times->coming;
	times->coming = (struct code_changes){ 0 };
}

uint64_t code_times_gone_ns(const struct code_times *times)
{
	return times->shown.first_ns ? times->shown.first_ns : times->read_ns;
}

uint64_t code_times_came_ns(const struct code_times *times, bool all_told, uint64_t asked_ns)
{
	if (!all_told)
		return times->read_ns;
	return times->shown.last_ns ? times->shown.last_ns : asked_ns;
}
