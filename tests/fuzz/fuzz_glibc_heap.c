/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a process that made it look like glibc's heaps, or that is just damaged: reading it
 * ends, and the blocks ascend. The input is pages; the mappings lie where glibc has them.
 */
#include "target/glibc/glibc_heap.h"
#include "target/memory.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAGE 4096
#define LIBRARY 0x7f8000000000
#define HEAP 0x555555559000
#define ARENA 0x7f0000000000
#define STACK 0x7f7000000000

/* A quarter of the input is each: data of the library, the main heap, an arena, a stack. */
struct image {
	const uint8_t *data;
	size_t size;
	struct memory_map maps[4];
	size_t part; /* bytes of each, whole pages */
};

static ssize_t read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct image *image = ctx;

	for (size_t i = 0; i < 4; i++) {
		const struct memory_map *map = &image->maps[i];
		size_t at = (i + 1) % 4 * image->part;

		if (addr < map->start || addr >= map->end)
			continue;
		if (len > map->end - addr)
			len = map->end - addr;
		memset(buf, 0, len);
		at += addr - map->start;
		if (at < image->size)
			memcpy(buf, image->data + at,
			       len < image->size - at ? len : image->size - at);
		return (ssize_t)len;
	}
	return -EFAULT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t starts[] = { HEAP, ARENA, STACK, LIBRARY };
	static const enum memory_kind kinds[] = { MEMORY_HEAP, MEMORY_ANONYMOUS, MEMORY_ANONYMOUS,
						  MEMORY_FILE };
	struct image image = { .data = data, .size = size };
	const uint64_t threads[] = { STACK + 0x740, 0 };
	struct glibc_source source = {
		.read = read_memory,
		.ctx = &image,
		.maps = image.maps,
		.n_maps = 4,
		.threads = threads,
		.n_threads = 2,
	};
	struct glibc_heap *heap;

	if (size < 8 || size > 16 * PAGE)
		return 0;
	image.part = (size + 4 * PAGE - 1) / (4 * PAGE) * PAGE;
	for (size_t i = 0; i < 4; i++)
		image.maps[i] = (struct memory_map){ starts[i], starts[i] + image.part, kinds[i],
						     i == 2, i == 3 ? "/lib/libc.so.6" : "" };
	if (glibc_heap_new(&source, &heap) < 0)
		return 0;
	for (size_t i = 1; i < heap->n_blocks; i++)
		if (heap->blocks[i - 1].addr >= heap->blocks[i].addr)
			abort();
	(void)glibc_heap_is_sound(heap);
	glibc_heap_free(heap);
	return 0;
}
