/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/rss.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE 4096ULL
#define MAX 8

/* A made-up process: lists end at an element of zeros. */
struct sample {
	const char *name;
	struct rss_row rows[MAX];
	struct rss_range ranges[MAX];
	struct {
		uint64_t addr, size;
	} blocks[MAX];
	struct range pages[MAX]; /* resident ones */
	bool some_unknown;	 /* blocks */
	struct rss_result expected;
};

struct asked {
	const struct range *pages;
	struct range blocks[MAX];
	unsigned int times;
	int error;
};

static int resident(void *ctx, uint64_t start, uint64_t end, struct range **ret_ranges,
		    size_t *ret_n)
{
	struct asked *asked = ctx;
	struct range *ranges = calloc(MAX, sizeof(*ranges));
	size_t n = 0;

	assert_non_null(ranges);
	asked->times++;
	if (asked->error) {
		free(ranges);
		return asked->error;
	}
	for (size_t i = 0; asked->pages[i].end; i++)
		if (asked->pages[i].start < end && asked->pages[i].end > start)
			ranges[n++] = asked->pages[i];
	*ret_ranges = ranges;
	*ret_n = n;
	return 0;
}

static struct rss_input input_of(const struct sample *sample, struct asked *asked)
{
	struct rss_input input = { .rows = sample->rows,
				   .ranges = sample->ranges,
				   .blocks = asked->blocks,
				   .all_blocks = !sample->some_unknown,
				   .resident = resident,
				   .ctx = asked };

	asked->pages = sample->pages;
	while (sample->rows[input.n_rows].end)
		input.n_rows++;
	while (sample->ranges[input.n_ranges].end)
		input.n_ranges++;
	for (; sample->blocks[input.n_blocks].addr; input.n_blocks++) {
		uint64_t addr = sample->blocks[input.n_blocks].addr;

		asked->blocks[input.n_blocks] =
			(struct range){ addr, addr + sample->blocks[input.n_blocks].size };
	}
	return input;
}

static const struct sample samples[] = {
	{ .name = "nothing" },
	{ .name = "mappings of one use",
	  .rows = { { 1 * PAGE, 9 * PAGE, 3 * PAGE, RSS_FILE },
		    { 9 * PAGE, 10 * PAGE, PAGE, RSS_STACK },
		    { 20 * PAGE, 30 * PAGE, 2 * PAGE, RSS_MMAP },
		    { 30 * PAGE, 31 * PAGE, PAGE, RSS_UNKNOWN },
		    { 40 * PAGE, 49 * PAGE, 5 * PAGE, RSS_HEAP } },
	  .expected = { .file = 3 * PAGE,
			.stack = PAGE,
			.mmap = 2 * PAGE,
			.unknown = PAGE,
			.heap_free = 5 * PAGE } },
	{ .name = "blocks in resident pages, across a border, and in pages that are not there",
	  .rows = { { 16 * PAGE, 32 * PAGE, 3 * PAGE, RSS_HEAP } },
	  .blocks = { { 16 * PAGE + 16, 100 },
		      { 17 * PAGE - 8, 24 },
		      { 19 * PAGE - 100, 200 },
		      { 30 * PAGE, PAGE } },
	  .pages = { { 16 * PAGE, 18 * PAGE }, { 19 * PAGE, 20 * PAGE } },
	  .expected = { .heap_live = 100 + 24 + 100, .heap_free = 3 * PAGE - 224 } },
	{ .name = "heap whose older blocks are not known",
	  .rows = { { 16 * PAGE, 18 * PAGE, 2 * PAGE, RSS_HEAP } },
	  .blocks = { { 16 * PAGE + 16, 100 } },
	  .pages = { { 16 * PAGE, 18 * PAGE } },
	  .some_unknown = true,
	  .expected = { .heap_live = 100,
			.unknown = 2 * PAGE - 100,
			.unknown_heap = 2 * PAGE - 100 } },
	{ .name = "one mapping of several uses, with blocks in each",
	  .rows = { { 100 * PAGE, 110 * PAGE, 8 * PAGE, RSS_UNKNOWN } },
	  .ranges = { { 101 * PAGE, 103 * PAGE, RSS_MMAP },
		      { 103 * PAGE, 105 * PAGE, RSS_HEAP },
		      { 107 * PAGE, 120 * PAGE, RSS_STACK } },
	  .blocks = { { 102 * PAGE, 1000 }, { 104 * PAGE, 24 }, { 106 * PAGE, 8 } },
	  .pages = { { 100 * PAGE, 105 * PAGE }, { 106 * PAGE, 109 * PAGE } },
	  .expected = { .heap_live = 1032,
			.mmap = 2 * PAGE - 1000,
			.heap_free = 2 * PAGE - 24,
			.stack = 2 * PAGE,
			.unknown = 2 * PAGE - 8 } },
	{ .name = "blocks that overlap count once, and one without size not at all",
	  .rows = { { 16 * PAGE, 17 * PAGE, PAGE, RSS_HEAP } },
	  .blocks = { { 16 * PAGE, 64 }, { 16 * PAGE + 32, 64 }, { 16 * PAGE + 200, 0 } },
	  .pages = { { 16 * PAGE, 17 * PAGE } },
	  .expected = { .heap_live = 96, .heap_free = PAGE - 96 } },
	{ .name = "ranges that overlap count once",
	  .rows = { { 16 * PAGE, 20 * PAGE, 4 * PAGE, RSS_FILE } },
	  .ranges = { { 16 * PAGE, 18 * PAGE, RSS_MMAP }, { 17 * PAGE, 19 * PAGE, RSS_HEAP } },
	  .pages = { { 16 * PAGE, 20 * PAGE } },
	  .expected = { .mmap = 2 * PAGE, .heap_free = PAGE, .file = PAGE } },
	{ .name = "pages that came and pages that went between the readings",
	  .rows = { { 16 * PAGE, 20 * PAGE, 2 * PAGE, RSS_HEAP },
		    { 20 * PAGE, 24 * PAGE, 4 * PAGE, RSS_HEAP } },
	  .blocks = { { 16 * PAGE, 8 }, { 20 * PAGE, 8 } },
	  .pages = { { 16 * PAGE, 19 * PAGE }, { 20 * PAGE, 21 * PAGE } },
	  .expected = { .heap_live = 16, .heap_free = 4 * PAGE - 16, .moved = 4 * PAGE } },
	{ .name = "a block of an impossible size ends with the mapping",
	  .rows = { { 16 * PAGE, 17 * PAGE, PAGE, RSS_HEAP } },
	  .blocks = { { 16 * PAGE + 96, 1ULL << 50 } },
	  .pages = { { 16 * PAGE, 17 * PAGE } },
	  .expected = { .heap_live = PAGE - 96, .heap_free = 96 } },
	{ .name = "blocks between mappings",
	  .rows = { { 16 * PAGE, 17 * PAGE, PAGE, RSS_HEAP },
		    { 30 * PAGE, 31 * PAGE, PAGE, RSS_FILE } },
	  .blocks = { { 8 * PAGE, 64 }, { 20 * PAGE, 64 }, { 40 * PAGE, 8 } },
	  .expected = { .heap_free = PAGE, .file = PAGE } },
};

static void each_byte_is_counted_for_one_use(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *sample = &samples[i];
		struct rss_result result;
		struct asked asked = { 0 };
		struct rss_input input = input_of(sample, &asked);

		print_message("# %s\n", sample->name);
		assert_int_equal(rss_reconcile(&input, &result), 0);
		assert_int_equal(result.heap_live, sample->expected.heap_live);
		assert_int_equal(result.heap_free, sample->expected.heap_free);
		assert_int_equal(result.mmap, sample->expected.mmap);
		assert_int_equal(result.file, sample->expected.file);
		assert_int_equal(result.stack, sample->expected.stack);
		assert_int_equal(result.unknown, sample->expected.unknown);
		assert_int_equal(result.unknown_heap, sample->expected.unknown_heap);
		assert_int_equal(result.moved, sample->expected.moved);
	}
}

static void pages_are_asked_for_where_they_matter(void **state)
{
	const struct sample sample = {
		.rows = { { 1 * PAGE, 9 * PAGE, 3 * PAGE, RSS_FILE },
			  { 16 * PAGE, 17 * PAGE, PAGE, RSS_HEAP },
			  { 20 * PAGE, 30 * PAGE, 0, RSS_HEAP },
			  { 30 * PAGE, 31 * PAGE, PAGE, RSS_UNKNOWN } },
		.ranges = { { 20 * PAGE, 30 * PAGE, RSS_MMAP } },
		.blocks = { { 16 * PAGE, 8 } },
	};
	struct asked asked = { 0 };
	struct rss_input input = input_of(&sample, &asked);
	struct rss_result result;

	(void)state;
	assert_int_equal(rss_reconcile(&input, &result), 0);
	assert_int_equal(asked.times, 1);
	asked.error = -ESRCH;
	assert_int_equal(rss_reconcile(&input, &result), -ESRCH);
}

/* Against a count of every byte by itself. */
static void random_layouts_are_counted_as_byte_by_byte(void **state)
{
	enum { SPAN = 64, STEPS = 400 };
	unsigned int seed = 20261122;

	(void)state;
	for (int round = 0; round < STEPS; round++) {
		struct range blocks[12];
		struct rss_range ranges[6];
		struct range pages[MAX] = { 0 };
		struct rss_row row = { 64, 64 + SPAN, 0, RSS_FILE };
		struct asked asked = { .pages = pages };
		struct rss_input input = { .rows = &row,
					   .n_rows = 1,
					   .ranges = ranges,
					   .blocks = blocks,
					   .all_blocks = true,
					   .resident = resident,
					   .ctx = &asked };
		struct rss_result result, slow = { 0 };
		uint64_t at = 56;
		size_t n_pages = 0;

		while (input.n_blocks < 12 && at < 140) {
			at += (uint64_t)rand_r(&seed) % 9;
			blocks[input.n_blocks++] =
				(struct range){ at, at + 1 + (uint64_t)rand_r(&seed) % 12 };
			at = 1 + blocks[input.n_blocks - 1].end;
		}
		for (at = 60; input.n_ranges < 6 && at < 140;) {
			uint64_t start = at + (uint64_t)rand_r(&seed) % 9;

			at = start + 1 + (uint64_t)rand_r(&seed) % 14;
			ranges[input.n_ranges++] =
				(struct rss_range){ start, at,
						    1 + (enum rss_use)(rand_r(&seed) % 4) };
		}
		for (at = 60; n_pages < MAX - 1 && at < 140;) {
			uint64_t start = at + 1 + (uint64_t)rand_r(&seed) % 9;

			at = start + 1 + (uint64_t)rand_r(&seed) % 14;
			pages[n_pages++] = (struct range){ start, at };
		}
		for (uint64_t byte = row.start; byte < row.end; byte++) {
			enum rss_use use = row.use;
			bool there = false, live = false;

			for (size_t i = 0; i < n_pages; i++)
				there |= pages[i].start <= byte && byte < pages[i].end;
			if (!there)
				continue;
			row.rss_bytes++;
			for (size_t i = 0; i < input.n_blocks; i++)
				live |= blocks[i].start <= byte && byte < blocks[i].end;
			for (size_t i = input.n_ranges; i-- > 0;)
				if (ranges[i].start <= byte && byte < ranges[i].end)
					use = ranges[i].use;
			slow.heap_live += live;
			slow.file += !live && use == RSS_FILE;
			slow.stack += !live && use == RSS_STACK;
			slow.mmap += !live && use == RSS_MMAP;
			slow.heap_free += !live && use == RSS_HEAP;
		}
		assert_int_equal(rss_reconcile(&input, &result), 0);
		assert_memory_equal(&result, &slow, sizeof(result));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_is_counted_for_one_use),
		cmocka_unit_test(pages_are_asked_for_where_they_matter),
		cmocka_unit_test(random_layouts_are_counted_as_byte_by_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
