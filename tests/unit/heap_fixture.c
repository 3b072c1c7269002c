/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/heap_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PAGE 4096U

void heap_init(struct heap *heap)
{
	*heap = (struct heap){ 0 };
	reach_opts_init(&heap->opts);
}

void heap_done(struct heap *heap)
{
	vec_foreach(&heap->regions, region) {
		free(region->data);
		free(region->unreadable);
	}
	vec_done(&heap->regions);
	vec_done(&heap->blocks);
	vec_done(&heap->roots);
	vec_done(&heap->files);
	ranges_done(&heap->unused);
	vec_done(&heap->words);
	free(heap->verdicts);
}

void heap_region(struct heap *heap, uint64_t addr, size_t size)
{
	struct heap_region region = { .addr = addr, .size = size };

	assert_true(addr % PAGE == 0 && size % PAGE == 0);
	region.data = calloc(1, size);
	region.unreadable = calloc(size / PAGE, sizeof(bool));
	assert_true(region.data && region.unreadable);
	assert_int_equal(vec_push(&heap->regions, region), 0);
}

static struct heap_region *find(const struct heap *heap, uint64_t addr)
{
	vec_foreach(&heap->regions, region)
		if (addr >= region->addr && addr - region->addr < region->size)
			return region;
	return NULL;
}

void heap_unreadable(struct heap *heap, uint64_t page)
{
	struct heap_region *region = find(heap, page);

	assert_non_null(region);
	region->unreadable[(page - region->addr) / PAGE] = true;
}

static void put(struct heap *heap, uint64_t addr, const void *data, size_t len)
{
	struct heap_region *region = find(heap, addr);

	assert_true(region && region->addr + region->size - addr >= len);
	memcpy(region->data + (addr - region->addr), data, len);
}

void heap_put(struct heap *heap, uint64_t addr, uint64_t word)
{
	put(heap, addr, &word, sizeof(word));
}

void heap_put_text(struct heap *heap, uint64_t addr, const char *text)
{
	put(heap, addr, text, strlen(text) + 1);
}

void heap_block(struct heap *heap, uint64_t addr, uint64_t size, uint32_t flags)
{
	assert_int_equal(vec_push(&heap->blocks, (struct reach_block){ addr, size, flags }), 0);
}

void heap_root(struct heap *heap, uint64_t start, uint64_t end, uint32_t flags)
{
	assert_int_equal(vec_push(&heap->roots, (struct reach_range){ start, end, flags }), 0);
}

void heap_file(struct heap *heap, uint64_t start, uint64_t end, uint32_t flags)
{
	assert_int_equal(vec_push(&heap->files, (struct reach_range){ start, end, flags }), 0);
}

void heap_unused(struct heap *heap, uint64_t start, uint64_t end)
{
	assert_int_equal(ranges_add(&heap->unused, start, end), 0);
}

void heap_word(struct heap *heap, uint64_t word)
{
	assert_int_equal(vec_push(&heap->words, word), 0);
}

int heap_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct heap *heap = ctx;
	size_t done = 0;

	/* No assert of cmocka's here: it is called by threads. */
	while (done < size) {
		struct heap_region *region = find(heap, addr + done);
		uint64_t offset;
		size_t len;

		if (!region)
			break;
		offset = addr + done - region->addr;
		if (region->unreadable[offset / PAGE])
			break;
		len = PAGE - offset % PAGE;
		if (len > size - done)
			len = size - done;
		memcpy((char *)buf + done, region->data + offset, len);
		done += len;
	}
	return done ? (int)done : -EFAULT;
}

static int by_address(const void *a, const void *b)
{
	const struct reach_block *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

struct reach_input heap_input(struct heap *heap)
{
	if (heap->blocks.len)
		qsort(heap->blocks.data, heap->blocks.len, sizeof(*heap->blocks.data), by_address);
	return (struct reach_input){
		.blocks = heap->blocks.data,
		.n_blocks = heap->blocks.len,
		.roots = heap->roots.data,
		.n_roots = heap->roots.len,
		.unused = &heap->unused,
		.words = heap->words.data,
		.n_words = heap->words.len,
		.files = heap->files.data,
		.n_files = heap->files.len,
		.read = heap_read,
		.ctx = heap,
	};
}

void heap_check(struct heap *heap)
{
	struct reach_input input = heap_input(heap);

	free(heap->verdicts);
	heap->verdicts = calloc(heap->blocks.len + 1, sizeof(*heap->verdicts));
	assert_non_null(heap->verdicts);
	assert_int_equal(reach_classify(&input, &heap->opts, heap->verdicts, &heap->stats), 0);
}

const struct reach_verdict *heap_verdict(const struct heap *heap, uint64_t addr)
{
	for (size_t i = 0; i < heap->blocks.len; i++)
		if (heap->blocks.data[i].addr == addr)
			return &heap->verdicts[i];
	fail_msg("no block at %#llx", (unsigned long long)addr);
	return NULL;
}

uint64_t heap_leader(const struct heap *heap, uint64_t addr)
{
	uint32_t leader = heap_verdict(heap, addr)->leader;

	if (leader == REACH_NO_LEADER)
		return 0;
	assert_true(leader < heap->blocks.len);
	return heap->blocks.data[leader].addr;
}
