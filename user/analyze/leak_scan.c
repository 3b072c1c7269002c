/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/leak_scan.h"

#include "base/clock.h"
#include "target/hold/stop.h"
#include "target/memory.h"

#include <errno.h>
#include <stdlib.h>

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t size)
{
	return (int)memory_read_some(ctx, addr, buf, size);
}

static int by_address(const void *item_a, const void *item_b)
{
	const uint64_t *a = item_a, *b = item_b;

	return (*a > *b) - (*a < *b);
}

/* Who looks for leaks of the program has no use for what libc keeps of threads that are gone. */
static void leave_out_kept(struct leak_scan *scan, struct process_roots *roots)
{
	size_t kept = 0;

	if (roots->kept_vectors.len == 0)
		return;
	vec_sort(&roots->kept_vectors, by_address);
	for (size_t i = 0; i < scan->n_blocks; i++) {
		const struct live_block *block = &scan->blocks[i];

		if (!bsearch(&block->addr, roots->kept_vectors.data, roots->kept_vectors.len,
			     sizeof(uint64_t), by_address)) {
			scan->blocks[kept++] = *block;
			continue;
		}
		scan->seen.kept_blocks++;
		scan->seen.kept_bytes += block->size;
	}
	scan->n_blocks = kept;
}

/*
 * What a pool hands out (include/memtraced.h, --allocator) lies in what it was given: that block is
 * left out, and its contents are no roots, as in memcheck.
 */
static void leave_out_pools(struct leak_scan *scan)
{
	size_t n = 0;

	for (size_t i = 0; i < scan->n_blocks; i++) {
		const struct live_block *block = &scan->blocks[i], *next = block + 1;

		if (i + 1 < scan->n_blocks && next->addr - block->addr < block->size &&
		    next->size <= block->size - (next->addr - block->addr))
			scan->seen.pool_blocks++;
		else
			scan->blocks[n++] = *block;
	}
	scan->n_blocks = n;
}

static int classify(struct leak_scan *scan, const struct memory *memory,
		    const struct process_roots *roots, const struct reach_opts *opts)
{
	_cleanup_free_ struct reach_block *blocks = calloc(scan->n_blocks + 1, sizeof(*blocks));
	struct reach_input input = {
		.blocks = blocks,
		.n_blocks = scan->n_blocks,
		.roots = roots->ranges.data,
		.n_roots = roots->ranges.len,
		.unused = &roots->unused,
		.words = roots->words.data,
		.n_words = roots->words.len,
		.files = roots->files.data,
		.n_files = roots->files.len,
		.read = read_memory,
		.ctx = (void *)memory,
	};

	scan->verdicts = calloc(scan->n_blocks + 1, sizeof(*scan->verdicts));
	if (!blocks || !scan->verdicts)
		return -ENOMEM;
	for (size_t i = 0; i < scan->n_blocks; i++)
		blocks[i] = (struct reach_block){ .addr = scan->blocks[i].addr,
						  .size = scan->blocks[i].size };
	return reach_classify(&input, opts, scan->verdicts, &scan->seen.stats);
}

static int run(struct leak_scan *scan, const struct leak_scan_opts *opts, const struct stop *stop)
{
	const uint64_t deadline_ns =
		opts->max_stop_ns ? stop_began_ns(stop) + opts->max_stop_ns : 0;
	struct process_roots_opts roots_opts = opts->roots;
	_cleanup_(process_roots_free_p) struct process_roots *roots = NULL;
	_cleanup_(memory_free_p) struct memory *memory = NULL;
	struct reach_opts reach_opts;
	int r = memory_new(opts->pid, &memory);

	roots_opts.blocks = scan->blocks;
	roots_opts.n_blocks = scan->n_blocks;
	roots_opts.deadline_ns = deadline_ns;
	if (r == 0)
		r = process_roots_new(memory, stop, &roots_opts, &roots);
	if (r < 0)
		return r;
	leave_out_kept(scan, roots);
	leave_out_pools(scan);
	reach_opts_init(&reach_opts);
	reach_opts.heuristics = opts->heuristics;
	reach_opts.deadline_ns = deadline_ns;
	/* All blocks would be called lost. */
	if (deadline_ns && clock_monotonic_ns() > deadline_ns)
		return -ETIME;
	return classify(scan, memory, roots, &reach_opts);
}

int leak_scan_new(const struct leak_scan_opts *opts, const struct stop *stop,
		  struct live_block *blocks, size_t n_blocks, struct leak_scan **ret_scan)
{
	_cleanup_(leak_scan_free_p) struct leak_scan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan) {
		free(blocks);
		return -ENOMEM;
	}
	scan->seen = (struct leak_seen){ .pid = opts->pid,
					 .image = opts->image,
					 .running_threads = stop_running(stop),
					 .unknown_blocks = opts->roots.unknown_blocks,
					 .older_blocks = opts->older_blocks };
	scan->blocks = blocks;
	scan->n_blocks = n_blocks;
	scan->time_ns = stop_began_ns(stop);
	r = run(scan, opts, stop);
	if (r < 0)
		return r;
	scan->seen.stopped_ns = clock_monotonic_ns() - scan->time_ns;
	*ret_scan = TAKE_PTR(scan);
	return 0;
}

void leak_scan_free(struct leak_scan *scan)
{
	if (!scan)
		return;
	free(scan->blocks);
	free(scan->verdicts);
	free(scan);
}
