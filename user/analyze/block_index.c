/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/block_index.h"

#include "base/vec.h"

#define PAGE_BITS 12		 /* 4096 pages a region */
#define MIN_REGION_SHIFT 24	 /* 16 MiB, with pages of 4 KiB */
#define MAX_REGIONS (1ULL << 24) /* addresses that span more than 2^48 get larger regions */
#define PAGES (1U << PAGE_BITS)

/*
 * A region's word: none, a single block (most of huge blocks' regions), or a table of pages. A
 * page's: the first block that ends behind the page's start; the last page is followed by another
 * such word, so that pages[p + 1] bounds what starts in page p.
 */
#define REGION_NONE 0U
#define REGION_TABLE 0x80000000U

struct page_table {
	uint32_t first[PAGES + 1];
};

struct block_index {
	const struct reach_block *blocks;
	uint32_t n;
	uint64_t overlapping;
	uint64_t low, span;
	unsigned int region_shift;
	uint64_t base; /* of region 0 */
	size_t n_regions;
	uint32_t *regions;
	VEC(struct page_table *) tables;
};

uint64_t block_index_end(const struct block_index *index, uint32_t block)
{
	const struct reach_block *b = &index->blocks[block];
	uint64_t end = b->addr + (b->size ? b->size : 1);

	if (block + 1 < index->n && end > b[1].addr)
		return b[1].addr;
	return end;
}

uint64_t block_index_overlapping(const struct block_index *index)
{
	return index->overlapping;
}

/* The first of the blocks low..high-1 that ends behind addr; high: none of them does. */
static uint32_t first_behind(const struct block_index *index, uint32_t low, uint32_t high,
			     uint64_t addr)
{
	return low +
	       (uint32_t)partition_point(high - low, i, block_index_end(index, low + i) <= addr);
}

uint32_t block_index_after(const struct block_index *index, uint64_t addr)
{
	return first_behind(index, 0, index->n, addr);
}

void block_index_span(const struct block_index *index, uint64_t *ret_first, uint64_t *ret_span)
{
	*ret_first = index->low;
	*ret_span = index->span;
}

uint32_t block_index_find(const struct block_index *index, uint64_t addr)
{
	uint64_t offset = addr - index->base;
	uint32_t region = index->regions[offset >> index->region_shift], low;

	if (region == REGION_NONE)
		return BLOCK_NONE;
	if (region & REGION_TABLE) {
		const struct page_table *table = index->tables.data[region & ~REGION_TABLE];
		uint32_t page = (offset >> (index->region_shift - PAGE_BITS)) & (PAGES - 1);

		/* Blocks that end in the page, and the one that begins there and ends behind. */
		low = first_behind(index, table->first[page], table->first[page + 1], addr);
		if (low == index->n)
			return BLOCK_NONE;
	} else {
		low = region - 1;
	}
	return addr >= index->blocks[low].addr && addr < block_index_end(index, low) ? low :
										       BLOCK_NONE;
}

static int check_blocks(struct block_index *index)
{
	const struct reach_block *b = index->blocks;

	for (uint32_t i = 0; i < index->n; i++) {
		if (!b[i].addr || b[i].addr + (b[i].size ? b[i].size : 1) < b[i].addr ||
		    (i && b[i].addr <= b[i - 1].addr))
			return -EINVAL;
		if (i && b[i - 1].addr + b[i - 1].size > b[i].addr)
			index->overlapping++;
	}
	return 0;
}

static uint64_t region_of(const struct block_index *index, uint64_t addr)
{
	return (addr - index->base) >> index->region_shift;
}

/* The pages of one region, whose blocks are first and those behind it. */
static int add_table(struct block_index *index, size_t region, uint32_t first)
{
	unsigned int shift = index->region_shift - PAGE_BITS;
	struct page_table *table = malloc(sizeof(*table));
	uint64_t start = index->base + ((uint64_t)region << index->region_shift);
	uint32_t block = first;

	if (!table)
		return -ENOMEM;
	if (vec_push(&index->tables, table)) {
		free(table);
		return -ENOMEM;
	}
	for (uint64_t page = 0; page <= PAGES; page++) {
		uint64_t addr = start + (page << shift);

		/* Past the end of memory, addr is small again. */
		while (block < index->n && (addr < start || block_index_end(index, block) <= addr))
			block++;
		table->first[page] = block;
	}
	index->regions[region] = REGION_TABLE | (uint32_t)(index->tables.len - 1);
	return 0;
}

static int fill_regions(struct block_index *index)
{
	for (uint32_t i = 0; i < index->n; i++) {
		size_t first = region_of(index, index->blocks[i].addr);
		size_t last = region_of(index, block_index_end(index, i) - 1);

		/* The first may hold others; those behind it are this block's but for the last. */
		if (index->regions[first] == REGION_NONE) {
			index->regions[first] = i + 1;
		} else if (!(index->regions[first] & REGION_TABLE)) {
			int r = add_table(index, first, index->regions[first] - 1);

			if (r)
				return r;
		}
		for (size_t region = first + 1; region <= last; region++)
			index->regions[region] = i + 1;
	}
	return 0;
}

static int fill_index(struct block_index *index)
{
	uint64_t high;

	if (!index->n)
		return 0;
	index->low = index->blocks[0].addr;
	high = block_index_end(index, index->n - 1) - 1;
	index->span = high - index->low + 1;
	index->region_shift = MIN_REGION_SHIFT;
	while ((high >> index->region_shift) - (index->low >> index->region_shift) >= MAX_REGIONS)
		index->region_shift++;
	index->base = index->low >> index->region_shift << index->region_shift;
	index->n_regions = region_of(index, high) + 1;
	index->regions = calloc(index->n_regions, sizeof(*index->regions));
	return index->regions ? fill_regions(index) : -ENOMEM;
}

int block_index_new(const struct reach_block *blocks, size_t n, struct block_index **ret_index)
{
	_cleanup_(block_index_free_p) struct block_index *index = NULL;
	int r;

	if (n >= REGION_TABLE)
		return -EINVAL;
	index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	index->blocks = blocks;
	index->n = n;
	r = check_blocks(index);
	if (!r)
		r = fill_index(index);
	if (r)
		return r;
	*ret_index = TAKE_PTR(index);
	return 0;
}

void block_index_free(struct block_index *index)
{
	if (!index)
		return;
	vec_foreach(&index->tables, table)
		free(*table);
	vec_done(&index->tables);
	free(index->regions);
	free(index);
}
