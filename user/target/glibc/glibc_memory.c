/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/glibc/glibc_memory.h"

#include "target/glibc/glibc_layout.h"
#include "target/memory.h"

#include <string.h>

/* A thread's descriptor is at the top of its stack: 2,304 bytes in glibc 2.36, and its TLS. */
#define TOP_BYTES 8192
#define DESCRIPTOR_ALIGN 64
/* As far as what it says of the stack: the thread pointer is at its begin, or at its end. */
#define DESCRIPTOR_BYTES 4096
#if defined(__x86_64__)
#define DESCRIPTOR_BEFORE 0
#else
#define DESCRIPTOR_BEFORE DESCRIPTOR_BYTES
#endif

struct top {
	uint64_t start;
	uint64_t words[TOP_BYTES / sizeof(uint64_t)];
};

static ssize_t read_source(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return memory_read_some(ctx, addr, buf, len);
}

struct glibc_source glibc_source_of(const struct memory *memory)
{
	struct glibc_source source = { .read = read_source, .ctx = (void *)memory };

	source.maps = memory_maps(memory, &source.n_maps);
	return source;
}

#if defined(__x86_64__)
/*
 * The ABI of thread-local storage, variant II: at the thread pointer is its own address (tcb), then
 * the DTV; nptl/descr.h has `self` behind it.
 */
static bool find_thread(const struct memory *memory, const struct memory_map *map,
			const struct top *top, struct glibc_stack *ret_stack)
{
	const size_t n = sizeof(top->words) / 8, step = DESCRIPTOR_ALIGN / 8;

	(void)memory; /* of a machine whose descriptors do not name their address */
	(void)map;
	for (size_t i = 0; i + step <= n; i += step) {
		uint64_t addr = top->start + i * 8;

		if (top->words[i] != addr || top->words[i + 2] != addr)
			continue;
		*ret_stack = (struct glibc_stack){ .vector = top->words[i + 1] };
		return true;
	}
	return false;
}
#elif defined(__aarch64__)
#define MAX_MODULES (1U << 16)
#define SMALLEST_PAGE 4096

/* nptl/descr.h: stackblock, stackblock_size, guardsize. The guard may belong to the mapping. */
static bool is_block(const uint64_t *words, const struct memory_map *map)
{
	return words[0] % SMALLEST_PAGE == 0 && words[1] % SMALLEST_PAGE == 0 &&
	       words[0] + words[1] == map->end && words[2] < words[1] &&
	       map->start <= words[0] + words[2];
}

/* The number of a DTV's entries is before its first one (sysdeps/generic/dl-dtv.h). */
static bool is_vector(const struct memory *memory, uint64_t addr)
{
	uint64_t entries;

	return addr % 16 == 0 && addr > 16 &&
	       memory_read(memory, addr - 16, &entries, sizeof(entries), NULL) == 0 &&
	       entries > 0 && entries < MAX_MODULES;
}

/* Variant I: the descriptor ends at the thread pointer, where the DTV is. */
static bool find_thread(const struct memory *memory, const struct memory_map *map,
			const struct top *top, struct glibc_stack *ret_stack)
{
	const size_t n = sizeof(top->words) / 8, step = DESCRIPTOR_ALIGN / 8;
	size_t at = 0;

	while (at + 3 <= n && !is_block(&top->words[at], map))
		at++;
	if (at + 3 > n)
		return false;
	*ret_stack = (struct glibc_stack){ .vector = 0 };
	for (at += step - at % step; at < n && ret_stack->vector == 0; at += step)
		if (is_vector(memory, top->words[at]))
			ret_stack->vector = top->words[at];
	return true;
}
#else
#error "descriptors of threads on this machine"
#endif

bool glibc_stack_find(const struct memory *memory, const struct memory_map *map,
		      struct glibc_stack *ret_stack)
{
	struct top top = { .start = map->end - TOP_BYTES };

	if (map->end - map->start < TOP_BYTES ||
	    memory_read(memory, top.start, top.words, sizeof(top.words), NULL) < 0)
		return false;
	return find_thread(memory, map, &top, ret_stack);
}

/* Within the mapping: the first thread's is said to be from 0 on. */
static bool is_stack_of(const uint64_t *words, uint64_t tls, uint64_t sp,
			const struct memory_map *map)
{
	uint64_t start = words[0], size = words[1], guard = words[2];

	if (size > map->end - map->start + guard || guard >= size || tls - start >= size)
		return false;
	return start + guard >= map->start && start + size <= map->end && sp >= start + guard &&
	       sp < start + size;
}

bool glibc_stack_start(const struct memory *memory, uint64_t tls, uint64_t sp, uint64_t *ret_start)
{
	const struct memory_map *map = memory_find(memory, sp);
	uint64_t words[DESCRIPTOR_BYTES / sizeof(uint64_t)];

	if (!map || !memory_map_has(map, tls) || tls - map->start < DESCRIPTOR_BYTES ||
	    memory_read(memory, tls - DESCRIPTOR_BEFORE, words, sizeof(words), NULL) < 0)
		return false;
	for (size_t i = 0; i + 3 <= sizeof(words) / sizeof(words[0]); i++)
		if (is_stack_of(&words[i], tls, sp, map)) {
			*ret_start = words[i] + words[i + 2];
			return true;
		}
	return false;
}

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
