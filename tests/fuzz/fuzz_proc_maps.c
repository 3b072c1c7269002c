/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/proc_maps.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was parsed must keep the promises of the header. */
static void check(const struct proc_maps *maps, size_t size)
{
	uint64_t last_end = 0;
	size_t path_bytes = 0;

	for (size_t i = 0; i < maps->n_maps; i++) {
		const struct proc_map *map = &maps->maps[i];

		if (map->start < last_end || map->start >= map->end)
			abort();
		if (proc_maps_find(maps, map->start) != map ||
		    proc_maps_find(maps, map->end - 1) != map)
			abort();
		if (map->start > last_end && proc_maps_find(maps, map->start - 1))
			abort();
		path_bytes += strlen(map->path);
		last_end = map->end;
	}
	if (path_bytes > size || proc_maps_find(maps, last_end))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_maps maps;

	if (proc_maps_parse((const char *)data, size, &maps) == 0) {
		check(&maps, size);
		proc_maps_done(&maps);
	}
	return 0;
}
