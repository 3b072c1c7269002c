/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of JIT maps, which traced programs write. */
#include "symbol/jit/perf_map.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(perf_map_free_p) struct perf_map *map = NULL;

	if (perf_map_new((const char *)data, size, &map) < 0)
		return 0;
	check(perf_map_malformed(map) + perf_map_count(map) <= size);
	for (size_t i = 0; i < perf_map_count(map); i++) {
		const struct perf_map_entry *entry = perf_map_at(map, i);

		check(entry->size_bytes > 0 && entry->start + entry->size_bytes > entry->start);
		check(entry->name[0] != '\0' && strlen(entry->name) < size);
		check(!strchr(entry->name, '\n'));
	}
	return 0;
}
