/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/glibc_memory.h"

#include "target/glibc_layout.h"
#include "target/memory.h"

#include <string.h>

#if defined(__x86_64__)
/*
 * The ABI of thread-local storage, variant II: at the thread pointer is its own address (tcb), then
 * the DTV; nptl/descr.h has `self` behind it. A thread's descriptor is the top of its stack: 2,304
 * bytes in glibc 2.36.
 */
#define TOP_BYTES 8192
#define DESCRIPTOR_ALIGN 64

bool glibc_stack_find(const struct memory *memory, const struct memory_map *map,
		      struct glibc_stack *ret_stack)
{
	uint64_t top[TOP_BYTES / sizeof(uint64_t)];
	const size_t n = sizeof(top) / sizeof(top[0]), step = DESCRIPTOR_ALIGN / sizeof(top[0]);
	uint64_t start = map->end - sizeof(top);

	if (map->end - map->start < sizeof(top) ||
	    memory_read(memory, start, top, sizeof(top), NULL) < 0)
		return false;
	for (size_t i = 0; i + step <= n; i += step) {
		uint64_t addr = start + i * sizeof(top[0]);

		if (top[i] != addr || top[i + 2] != addr)
			continue;
		*ret_stack = (struct glibc_stack){ .thread = addr, .vector = top[i + 1] };
		return true;
	}
	return false;
}
#else
bool glibc_stack_find(const struct memory *memory, const struct memory_map *map,
		      struct glibc_stack *ret_stack)
{
	(void)memory;
	(void)map;
	(void)ret_stack;
	return false;
}
#endif

bool glibc_heap_find(const struct memory *memory, const struct memory_map *map, uint64_t from,
		     uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = (from > map->start ? from : map->start) + GLIBC_HEAP_SIZE - 1;
	struct glibc_heap_info heap;

	for (start -= start % GLIBC_HEAP_SIZE; start < map->end; start += GLIBC_HEAP_SIZE) {
		if (memory_read(memory, start, &heap, sizeof(heap), NULL) < 0)
			return false;
		if (!glibc_is_heap(&heap, start))
			continue;
		*ret_start = start;
		*ret_end = start + heap.size;
		return true;
	}
	return false;
}

bool glibc_is_library(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc-2.", 7) == 0;
}
