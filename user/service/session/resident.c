/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/resident.h"

#include "analyze/rss.h"
#include "base/clock.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/regions.h"
#include "target/glibc/glibc_memory.h"
#include "target/memory.h"
#include "target/proc_maps.h"
#include "target/smaps.h"
#include "trace/live/cuts/live_blocks.h"
#include "trace/live/live.h"

#include <errno.h>
#include <string.h>

/* One process that is looked at. */
struct reading {
	const struct live_image *image;
	const struct regions *regions; /* NULL: none */
	struct memory *memory;
	struct smaps smaps;
	VEC(struct rss_row) rows;
	VEC(struct rss_range) ranges;
};

static bool is_anonymous(const struct proc_map *map)
{
	return map->ino == 0 && (*map->path == '\0' || begins_with(map->path, "[anon"));
}

/*
 * By itself, and by the mapping before it: what a program keeps behind its initialised data (.bss)
 * is anonymous memory that begins where the file's ends.
 */
static enum rss_use use_of(const struct proc_map *map, const struct proc_map *before)
{
	if (strcmp(map->path, "[heap]") == 0)
		return RSS_HEAP;
	if (strcmp(map->path, "[stack]") == 0)
		return RSS_STACK;
	if (strcmp(map->path, "/dev/zero") == 0 && map->deleted)
		return RSS_MMAP; /* MAP_SHARED | MAP_ANONYMOUS */
	if (!is_anonymous(map))
		return RSS_FILE;
	return before && before->end == map->start && before->ino && map->write ? RSS_FILE :
										  RSS_UNKNOWN;
}

static int add_range(struct reading *r, uint64_t start, uint64_t end, enum rss_use use)
{
	return vec_push(&r->ranges, (struct rss_range){ start, end, use });
}

static bool is_stack(const struct reading *r, uint64_t start, uint64_t end)
{
	const struct memory_map map = { .start = start, .end = end };
	struct glibc_stack stack;

	return glibc_stack_find(r->memory, &map, &stack);
}

/* What was mapped while we looked. */
static int add_known(struct reading *r)
{
	_cleanup_free_ struct range *regions = NULL;
	const struct ranges *areas = r->image->areas;
	size_t n = 0;
	int err = r->regions ? regions_ranges(r->regions, &regions, &n) : 0;

	for (size_t i = 0; i < n && err == 0; i++) {
		enum rss_use use =
			is_stack(r, regions[i].start, regions[i].end) ? RSS_STACK : RSS_MMAP;

		err = add_range(r, regions[i].start, regions[i].end, use);
	}
	vec_foreach(&areas->list, area)
		if (err == 0)
			err = add_range(r, area->start, area->end, RSS_HEAP);
	return err;
}

/* What an anonymous mapping from before the attach looks like. */
static int add_older(struct reading *r, const struct memory_map *map)
{
	uint64_t at = map->start, start, end;
	int err = 0;

	if (map->behind_guard && is_stack(r, map->start, map->end))
		return add_range(r, map->start, map->end, RSS_STACK);
	while (err == 0 && glibc_heap_find(r->memory, map, at, &start, &end)) {
		err = add_range(r, start, end, RSS_HEAP);
		at = end;
	}
	return err;
}

DEFINE_COMPARE(by_start, struct rss_range, start)

static int list_ranges(struct reading *r)
{
	size_t n;
	const struct memory_map *maps = memory_maps(r->memory, &n);
	int err = add_known(r);

	for (size_t i = 0; i < n && err == 0 && !r->image->from_start; i++)
		if (maps[i].kind == MEMORY_ANONYMOUS)
			err = add_older(r, &maps[i]);
	if (err == 0)
		vec_sort(&r->ranges, by_start);
	return err;
}

static bool is_in_range(const struct reading *r, uint64_t addr)
{
	size_t low = partition_point(r->ranges.len, i, r->ranges.data[i].end <= addr);

	return low < r->ranges.len && r->ranges.data[low].start <= addr;
}

/* The first live block that does not end before `addr`. */
static size_t first_block(const struct reading *r, uint64_t addr)
{
	return partition_point(r->image->blocks.len, i, r->image->blocks.data[i].end <= addr);
}

/*
 * Is it a mapping from before the attach that an allocator has made? It is one from which a block
 * has been given since, other than by glibc, of whose heaps we know where they end.
 */
static bool is_older_heap(const struct reading *r, const struct proc_map *map)
{
	if (r->image->from_start)
		return false;
	for (size_t i = first_block(r, map->start);
	     i < r->image->blocks.len && r->image->blocks.data[i].start < map->end; i++)
		if (!is_in_range(r, r->image->blocks.data[i].start))
			return true;
	return false;
}

static int list_rows(struct reading *r)
{
	int err = 0;

	for (size_t i = 0; i < r->smaps.n_rows && err == 0; i++) {
		const struct smaps_row *row = &r->smaps.rows[i];
		enum rss_use use = use_of(&row->map, i ? &row[-1].map : NULL);

		if (use == RSS_UNKNOWN && is_older_heap(r, &row->map))
			use = RSS_HEAP;
		err = vec_push(&r->rows, (struct rss_row){ row->map.start, row->map.end,
							   row->rss_bytes, use });
	}
	return err;
}

static int resident_pages(void *ctx, uint64_t start, uint64_t end, struct range **ret_ranges,
			  size_t *ret_n)
{
	const struct reading *r = ctx;
	_cleanup_free_ struct memory_range *pages = NULL;
	struct range *ranges;
	size_t n;
	int err = memory_resident(r->memory, start, end, &pages, &n);

	if (err < 0)
		return err;
	ranges = calloc(n + 1, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ranges[i] = (struct range){ pages[i].start, pages[i].end };
	*ret_ranges = ranges;
	*ret_n = n;
	return 0;
}

static uint64_t overlap(const struct range *region, const struct proc_map *map)
{
	uint64_t start = region->start > map->start ? region->start : map->start;
	uint64_t end = region->end < map->end ? region->end : map->end;

	return end > start ? end - start : 0;
}

/* Regions, ascending; those before `first` end before the latest mapping. */
struct region_sums {
	struct range *list;
	size_t n, first;
	uint64_t mapped, inaccessible;
};

/* Mappings come ascending. What was unmapped between the two readings is left out. */
static void add_map(struct region_sums *sums, const struct proc_map *map)
{
	while (sums->first < sums->n && sums->list[sums->first].end <= map->start)
		sums->first++;
	for (size_t i = sums->first; i < sums->n && sums->list[i].start < map->end; i++) {
		uint64_t bytes = overlap(&sums->list[i], map);

		sums->mapped += bytes;
		if (!map->read && !map->write && !map->exec)
			sums->inaccessible += bytes;
	}
}

static int sum_regions(const struct reading *r, struct record_resident *ret)
{
	struct region_sums sums = { 0 };
	int err = r->regions ? regions_ranges(r->regions, &sums.list, &sums.n) : 0;

	for (size_t row = 0; row < r->smaps.n_rows && err == 0; row++)
		add_map(&sums, &r->smaps.rows[row].map);
	free(sums.list);
	ret->mapped = sums.mapped;
	ret->inaccessible = sums.inaccessible;
	return err;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static int reconcile(struct reading *r, bool all_blocks, struct record_resident *ret)
{
	const struct rss_input input = { .rows = r->rows.data,
					 .n_rows = r->rows.len,
					 .ranges = r->ranges.data,
					 .n_ranges = r->ranges.len,
					 .blocks = r->image->blocks.data,
					 .n_blocks = r->image->blocks.len,
					 .all_blocks = all_blocks,
					 .resident = resident_pages,
					 .ctx = r };
	struct smaps_sums sums;
	struct rss_result uses;
	uint64_t rss = 0;
	int err = rss_reconcile(&input, &uses);

	if (err == 0)
		err = smaps_sums_read(r->image->pid, &sums);
	if (err < 0)
		return err;
	vec_foreach(&r->rows, row)
		rss += row->rss_bytes;
	*ret = (struct record_resident){
		.image = r->image->image,
		.time_ns = clock_monotonic_ns(),
		.rss = sums.rss_bytes,
		.pss = sums.pss_bytes,
		.swap = sums.swap_bytes,
		.page_tables = sums.page_table_bytes,
		.heap_live = uses.heap_live,
		.heap_free = uses.heap_free,
		.mmap = uses.mmap,
		.file = uses.file,
		.stack = uses.stack,
		.unknown = uses.unknown,
		.unknown_heap = uses.unknown_heap,
		.moved = uses.moved + difference(rss, sums.rss_bytes),
		.all_blocks = all_blocks,
	};
	return sum_regions(r, ret);
}

static int read_process(struct reading *r, bool all_blocks, struct record_resident *ret)
{
	int err = memory_new(r->image->pid, &r->memory);

	if (err == 0)
		err = list_ranges(r);
	if (err == 0)
		err = smaps_read(r->image->pid, &r->smaps);
	if (err == 0)
		err = list_rows(r);
	return err ? err : reconcile(r, all_blocks, ret);
}

static int read_image(const struct live *live, const struct live_image *image,
		      const struct model *model, bool all_counted, record_fn fn, void *userdata)
{
	const struct model_process *process = model_find_process(model, image->image);
	struct reading reading = { .image = image, .regions = process ? process->regions : NULL };
	struct record record = { .type = RECORD_RESIDENT };
	int r = image->left_out ?
			-EFBIG :
			read_process(&reading, all_counted && image->from_start, &record.resident);

	memory_free(reading.memory);
	smaps_done(&reading.smaps);
	vec_done(&reading.rows);
	vec_done(&reading.ranges);
	if (r == 0)
		r = live_check_show(live, image->pid, image->image);
	if (r == 0)
		return fn(&record, userdata);
	if (r == -ENOMEM)
		return r;
	/* It has just ended, or may not be read: nothing is known then. */
	log_debug("memory of process %d: %s", (int)image->pid, strerror(-r));
	return 0;
}

int resident_read(struct live *live, const struct model *model, pid_t pid, bool all_counted,
		  record_fn fn, void *userdata)
{
	struct live_image *images;
	size_t n;
	int r = live_images_new(live, pid, &images, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++)
		r = read_image(live, &images[i], model, all_counted, fn, userdata);
	live_images_free(images, n);
	return r;
}

static int read_mapped(const struct model_process *process, struct record_resident *ret)
{
	struct region_sums sums = { 0 };
	struct proc_maps maps = { 0 };
	int r = proc_maps_read((pid_t)process->pid, &maps);

	if (r == 0)
		r = regions_ranges(process->regions, &sums.list, &sums.n);
	for (size_t i = 0; i < maps.n_maps && r == 0; i++)
		add_map(&sums, &maps.maps[i]);
	*ret = (struct record_resident){ .image = process->id,
					 .time_ns = clock_monotonic_ns(),
					 .mapped = sums.mapped,
					 .inaccessible = sums.inaccessible,
					 .only_mapped = true };
	free(sums.list);
	proc_maps_done(&maps);
	return r;
}

int resident_read_mapped(const struct live *live, const struct model_process *process, record_fn fn,
			 void *userdata)
{
	const pid_t pid = (pid_t)process->pid;
	struct record record = { .type = RECORD_RESIDENT };
	int r;

	if (!process->known || process->ended || !process->regions ||
	    !image_is_none(process->next_id))
		return 0;
	r = read_mapped(process, &record.resident);
	if (r == -ENOMEM)
		return r;
	/* It has just ended, or may not be read: nothing is known then. */
	if (r < 0 || !live_is_current(live, pid, process->id) ||
	    !live_may_show(live, pid, process->id))
		return 0;
	return fn(&record, userdata);
}
