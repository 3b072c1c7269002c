/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/rss.h"

#include "base/cleanup.h"
#include "base/saturate.h"

struct cursor {
	const struct rss_input *input;
	struct rss_result *result;
	size_t range, block; /* the first that may lie behind what was counted */
};

static void add_use(struct cursor *c, enum rss_use use, uint64_t bytes)
{
	struct rss_result *result = c->result;

	switch (use) {
	case RSS_FILE:
		result->file += bytes;
		return;
	case RSS_STACK:
		result->stack += bytes;
		return;
	case RSS_MMAP:
		result->mmap += bytes;
		return;
	case RSS_HEAP:
		if (c->input->all_blocks) {
			result->heap_free += bytes;
			return;
		}
		result->unknown_heap += bytes;
		break;
	case RSS_UNKNOWN:
	case RSS_USES:
		break;
	}
	result->unknown += bytes;
}

static const struct range *block_at(struct cursor *c, uint64_t addr)
{
	const struct rss_input *input = c->input;

	while (c->block < input->n_blocks && input->blocks[c->block].end <= addr)
		c->block++;
	return c->block < input->n_blocks ? &input->blocks[c->block] : NULL;
}

/* Bytes of blocks within [start, end). */
static uint64_t live_bytes(struct cursor *c, uint64_t start, uint64_t end)
{
	const struct range *block;
	uint64_t at = start, live = 0;

	while (at < end && (block = block_at(c, at)) && block->start < end) {
		uint64_t from = max_u64(block->start, at), to = min_u64(block->end, end);

		live += to - from;
		at = to;
	}
	return live;
}

static const struct rss_range *range_at(struct cursor *c, uint64_t addr)
{
	const struct rss_input *input = c->input;

	while (c->range < input->n_ranges && input->ranges[c->range].end <= addr)
		c->range++;
	return c->range < input->n_ranges ? &input->ranges[c->range] : NULL;
}

/* Resident pages of one row: whatever they are for, what is in live blocks is that. */
static void count_pages(struct cursor *c, const struct rss_row *row, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct rss_range *range = range_at(c, start);
		enum rss_use use = row->use;
		uint64_t to = end, live;

		if (range && range->start <= start) {
			use = range->use;
			to = min_u64(end, range->end);
		} else if (range) {
			to = min_u64(end, range->start);
		}
		live = live_bytes(c, start, to);
		c->result->heap_live += live;
		add_use(c, use, to - start - live);
		start = to;
	}
}

/* Does anything but the row itself say what its pages are for? */
static bool is_split(struct cursor *c, const struct rss_row *row)
{
	const struct rss_range *range = range_at(c, row->start);
	const struct range *block = block_at(c, row->start);

	return (range && range->start < row->end) || (block && block->start < row->end);
}

static int count_row(struct cursor *c, const struct rss_row *row)
{
	_cleanup_free_ struct range *pages = NULL;
	uint64_t resident = 0, at = row->start;
	size_t n = 0;
	int r;

	if (!row->rss_bytes || !is_split(c, row)) {
		add_use(c, row->use, row->rss_bytes);
		return 0;
	}
	r = c->input->resident(c->input->ctx, row->start, row->end, &pages, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		uint64_t from = max_u64(pages[i].start, at), to = min_u64(pages[i].end, row->end);

		if (from >= to)
			continue;
		count_pages(c, row, from, to);
		resident += to - from;
		at = to;
	}
	c->result->moved +=
		resident > row->rss_bytes ? resident - row->rss_bytes : row->rss_bytes - resident;
	return 0;
}

int rss_reconcile(const struct rss_input *input, struct rss_result *ret_result)
{
	struct rss_result result = { 0 };
	struct cursor c = { .input = input, .result = &result };
	int r = 0;

	for (size_t i = 0; i < input->n_rows && r == 0; i++)
		r = count_row(&c, &input->rows[i]);
	if (r == 0)
		*ret_result = result;
	return r;
}
