/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of JIT maps, which traced programs write. */
#include "symbol/perf_map.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

/* Whatever is found holds the address asked for, and its name is a line's end. */
static void try_address(const struct perf_map *map, uint64_t addr, size_t size)
{
	const struct perf_map_entry *entry = perf_map_find(map, addr);

	if (!entry)
		return;
	check(addr >= entry->start && addr - entry->start < entry->size_bytes);
	check(entry->name[0] != '\0' && strlen(entry->name) < size);
	check(!strchr(entry->name, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(perf_map_free_p) struct perf_map *map = NULL;
	uint64_t addr = 0;

	if (perf_map_new((const char *)data, size, &map) < 0)
		return 0;
	check(perf_map_malformed(map) <= size);
	for (int bit = 0; bit < 64; bit++) {
		try_address(map, 1ULL << bit, size);
		try_address(map, (1ULL << bit) - 1, size);
	}
	for (size_t i = 0; i + sizeof(addr) <= size; i += sizeof(addr)) {
		memcpy(&addr, data + i, sizeof(addr));
		try_address(map, addr, size);
	}
	/* Every start that the text spells is an address to ask for, too. */
	for (size_t i = 0; i < size && i < 256; i++) {
		addr = addr << 4 | (uint64_t)(data[i] <= '9' ? data[i] & 15 : (data[i] & 7) + 9);
		try_address(map, addr, size);
	}
	return 0;
}
