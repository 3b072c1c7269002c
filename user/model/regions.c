/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/regions.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

/*
 * A site's share of the peak is found as DESIGN.md section 10 does it for heap sites: a new peak
 * of the process only bumps its epoch; before a site is changed, what it held is saved.
 * Sums are unsigned so that a damaged recording can wrap them, but not overflow.
 */
struct site {
	uint64_t stack;
	uint16_t fn;
	uint64_t live_bytes, live_blocks;
	uint64_t allocs, bytes;
	uint64_t at_peak_bytes; /* valid while epoch is the process's */
	uint64_t epoch;
	uint64_t at_cut_bytes;
	uint64_t growth_bytes;
	uint64_t final_oldest_ns, final_newest_ns; /* once the ranges are forgotten */
	size_t index;
};

struct region {
	uint64_t start, end;
	uint64_t birth_ns;
	struct site *site;
};

/* With room at both ends: mmap goes down, brk goes up, and a list may have 10^4 of them. */
struct region_list {
	struct region *data;
	size_t len;
	struct region *room; /* data is in there */
	size_t cap;
};

struct regions {
	struct region_list list; /* ascending by start, disjoint */
	VEC(struct site *) sites;
	struct hashmap site_map;
	uint64_t allocs, bytes;
	uint64_t live_bytes, peak_bytes;
	uint64_t peak_epoch;
	size_t most; /* ranges that are kept; 0: all */
	uint64_t left_out;
};

DEFINE_HASHMAP_OPS(site_ops, struct site, free, stack, fn);

int regions_new(struct regions **ret_regions)
{
	struct regions *regions = calloc(1, sizeof(*regions));

	if (!regions)
		return -ENOMEM;
	regions->site_map.ops = &site_ops;
	*ret_regions = regions;
	return 0;
}

void regions_free(struct regions *regions)
{
	if (!regions)
		return;
	free(regions->list.room);
	vec_done(&regions->sites);
	hashmap_done(&regions->site_map);
	free(regions);
}

static int find_site(struct regions *regions, uint16_t fn, uint64_t stack, struct site **ret_site)
{
	const struct site added = {
		.stack = stack,
		.fn = fn,
		/* It held nothing at whatever peak was before. */
		.epoch = regions->peak_epoch,
		.index = regions->sites.len,
		.final_oldest_ns = UINT64_MAX,
		.final_newest_ns = UINT64_MAX,
	};
	bool is_new;

	if (vec_reserve(&regions->sites, regions->sites.len + 1) < 0)
		return -ENOMEM;
	*ret_site = hashmap_intern(&regions->site_map, &added, sizeof(added), &is_new);
	if (!*ret_site)
		return -ENOMEM;
	if (is_new)
		regions->sites.data[regions->sites.len++] = *ret_site;
	return 0;
}

/* Before any change of a site's live bytes. */
static void save_peak(const struct regions *regions, struct site *site)
{
	if (site->epoch == regions->peak_epoch)
		return;
	site->at_peak_bytes = site->live_bytes;
	site->epoch = regions->peak_epoch;
}

static void site_add_bytes(struct regions *regions, struct site *site, uint64_t bytes)
{
	save_peak(regions, site);
	site->live_bytes += bytes;
	regions->live_bytes += bytes;
	if (regions->live_bytes > regions->peak_bytes) {
		regions->peak_bytes = regions->live_bytes;
		regions->peak_epoch++;
	}
}

static void site_subtract_bytes(struct regions *regions, struct site *site, uint64_t bytes)
{
	save_peak(regions, site);
	site->live_bytes -= bytes;
	regions->live_bytes -= bytes;
}

/* Index of the first region that ends above addr. */
static size_t region_above(const struct regions *regions, uint64_t addr)
{
	return partition_point(regions->list.len, i, regions->list.data[i].end <= addr);
}

void regions_limit(struct regions *regions, size_t most)
{
	regions->most = most;
}

/* Counts one that there is no room for. */
static bool leave_out(struct regions *regions)
{
	bool full = regions->most > 0 && regions->list.len >= regions->most;

	regions->left_out += full;
	return full;
}

/* For one more before the first or behind the last. 0 or -ENOMEM. */
static int make_room(struct region_list *list, bool in_front)
{
	size_t before = list->room ? (size_t)(list->data - list->room) : 0, cap = list->cap;
	struct region *room;

	if (in_front ? before > 0 : before + list->len < list->cap)
		return 0;
	/* Where half of it is free, that is at the other end. */
	if (list->len >= cap / 2)
		cap = cap ? cap * 2 : 8;
	room = calloc(cap, sizeof(*room));
	if (!room)
		return -ENOMEM;
	before = (cap - list->len) / 2;
	if (list->len > 0)
		memcpy(&room[before], list->data, list->len * sizeof(*room));
	free(list->room);
	*list = (struct region_list){ &room[before], list->len, room, cap };
	return 0;
}

static int insert_region(struct regions *regions, size_t at, struct region region)
{
	struct region_list *list = &regions->list;
	bool in_front = at < list->len - at;
	int r = make_room(list, in_front);

	if (r < 0)
		return r;
	if (in_front) {
		list->data--;
		memmove(list->data, list->data + 1, at * sizeof(region));
	} else {
		memmove(&list->data[at + 1], &list->data[at], (list->len - at) * sizeof(region));
	}
	list->data[at] = region;
	list->len++;
	region.site->live_blocks++;
	return 0;
}

static void remove_regions(struct regions *regions, size_t first, size_t n)
{
	struct region_list *list = &regions->list;
	size_t behind = list->len - first - n;

	if (n == 0)
		return;
	for (size_t i = first; i < first + n; i++)
		list->data[i].site->live_blocks--;
	if (first < behind) {
		memmove(list->data + n, list->data, first * sizeof(struct region));
		list->data += n;
	} else {
		memmove(&list->data[first], &list->data[first + n], behind * sizeof(struct region));
	}
	list->len -= n;
}

int regions_map(struct regions *regions, uint64_t start, uint64_t end, uint16_t fn, uint64_t stack,
		uint64_t time_ns)
{
	struct region region = { .start = start, .end = end, .birth_ns = time_ns };
	int r;

	if (start >= end)
		return 0;
	r = find_site(regions, fn, stack, &region.site);
	if (r == 0)
		r = regions_unmap(regions, start, end);
	if (r < 0)
		return r;
	region.site->allocs++;
	region.site->bytes += end - start;
	regions->allocs++;
	regions->bytes += end - start;
	if (leave_out(regions))
		return 0;
	r = insert_region(regions, region_above(regions, start), region);
	if (r < 0)
		return r;
	site_add_bytes(regions, region.site, end - start);
	return 0;
}

/* Takes the middle out of one region. */
static int split_region(struct regions *regions, size_t at, uint64_t start, uint64_t end)
{
	struct region upper = regions->list.data[at];
	int r;

	if (leave_out(regions)) {
		regions->list.data[at].end = start;
		site_subtract_bytes(regions, upper.site, upper.end - start);
		return 0;
	}
	upper.start = end;
	r = insert_region(regions, at + 1, upper);
	if (r < 0)
		return r;
	regions->list.data[at].end = start;
	site_subtract_bytes(regions, upper.site, end - start);
	return 0;
}

int regions_unmap(struct regions *regions, uint64_t start, uint64_t end)
{
	size_t i = region_above(regions, start), first_whole, n_whole = 0;

	if (start >= end || i >= regions->list.len)
		return 0;
	if (regions->list.data[i].start < start && regions->list.data[i].end > end)
		return split_region(regions, i, start, end);

	if (regions->list.data[i].start < start) {
		struct region *lower = &regions->list.data[i++];

		site_subtract_bytes(regions, lower->site, lower->end - start);
		lower->end = start;
	}
	first_whole = i;
	for (; i < regions->list.len && regions->list.data[i].end <= end; i++, n_whole++) {
		struct region *whole = &regions->list.data[i];

		site_subtract_bytes(regions, whole->site, whole->end - whole->start);
	}
	if (i < regions->list.len && regions->list.data[i].start < end) {
		struct region *upper = &regions->list.data[i];

		site_subtract_bytes(regions, upper->site, end - upper->start);
		upper->start = end;
	}
	remove_regions(regions, first_whole, n_whole);
	return 0;
}

int regions_new_inherited(const struct regions *parent, struct regions **ret_regions)
{
	_cleanup_(regions_free_p) struct regions *regions = NULL;
	int r = regions_new(&regions);

	if (r == 0) {
		regions->most = parent->most;
		regions->left_out = parent->left_out;
	}
	for (size_t i = 0; r == 0 && i < parent->list.len; i++) {
		struct region region = parent->list.data[i];

		r = find_site(regions, region.site->fn, region.site->stack, &region.site);
		if (r == 0)
			r = insert_region(regions, i, region);
		if (r == 0)
			site_add_bytes(regions, region.site, region.end - region.start);
	}
	if (r < 0)
		return r;
	*ret_regions = TAKE_PTR(regions);
	return 0;
}

void regions_cut(struct regions *regions)
{
	vec_foreach(&regions->sites, it) {
		struct site *site = *it;

		site->growth_bytes = site->live_bytes - site->at_cut_bytes;
		site->at_cut_bytes = site->live_bytes;
	}
}

void regions_end(struct regions *regions)
{
	vec_foreach(&regions->list, region) {
		struct site *site = region->site;

		if (region->birth_ns < site->final_oldest_ns)
			site->final_oldest_ns = region->birth_ns;
		if (site->final_newest_ns == UINT64_MAX || region->birth_ns > site->final_newest_ns)
			site->final_newest_ns = region->birth_ns;
	}
	free(regions->list.room);
	regions->list = (struct region_list){};
}

size_t regions_count(const struct regions *regions)
{
	return regions->list.len;
}

size_t regions_n_sites(const struct regions *regions)
{
	return regions->sites.len;
}

uint64_t regions_left_out(const struct regions *regions)
{
	return regions->left_out;
}

void regions_totals(const struct regions *regions, struct region_totals *ret_totals)
{
	uint64_t live_blocks = 0;

	vec_foreach(&regions->sites, site)
		live_blocks += (*site)->live_blocks;
	*ret_totals = (struct region_totals){
		.allocs = regions->allocs,
		.bytes = regions->bytes,
		.live_bytes = (int64_t)regions->live_bytes,
		.live_blocks = (int64_t)live_blocks,
		.peak_bytes = (int64_t)regions->peak_bytes,
		.left_out = regions->left_out,
	};
}

static struct region_site site_values(const struct regions *regions, const struct site *site)
{
	bool at_peak = site->epoch == regions->peak_epoch;

	return (struct region_site){
		.stack = site->stack,
		.fn = site->fn,
		.live_bytes = (int64_t)site->live_bytes,
		.live_blocks = (int64_t)site->live_blocks,
		.allocs = site->allocs,
		.bytes = site->bytes,
		.peak_bytes = (int64_t)(at_peak ? site->at_peak_bytes : site->live_bytes),
		.growth_bytes = (int64_t)site->growth_bytes,
		.oldest_birth_ns = site->final_oldest_ns,
		.newest_birth_ns = site->final_newest_ns,
	};
}

int regions_ranges(const struct regions *regions, struct range **ret_ranges, size_t *ret_n)
{
	struct range *ranges = calloc(regions->list.len + 1, sizeof(*ranges));

	if (!ranges)
		return -ENOMEM;
	for (size_t i = 0; i < regions->list.len; i++)
		ranges[i] =
			(struct range){ regions->list.data[i].start, regions->list.data[i].end };
	*ret_ranges = ranges;
	*ret_n = regions->list.len;
	return 0;
}

int regions_sites(const struct regions *regions, uint64_t since_ns, struct region_site **ret_sites,
		  size_t *ret_n)
{
	struct region_site *sites = calloc(regions->sites.len + 1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < regions->sites.len; i++)
		sites[i] = site_values(regions, regions->sites.data[i]);
	vec_foreach(&regions->list, region) {
		struct region_site *site = &sites[region->site->index];

		if (region->birth_ns >= since_ns) {
			site->young_bytes = (int64_t)((uint64_t)site->young_bytes + region->end -
						      region->start);
			site->young_blocks++;
		}
		if (region->birth_ns < site->oldest_birth_ns)
			site->oldest_birth_ns = region->birth_ns;
		if (site->newest_birth_ns == UINT64_MAX || region->birth_ns > site->newest_birth_ns)
			site->newest_birth_ns = region->birth_ns;
	}
	*ret_sites = sites;
	*ret_n = regions->sites.len;
	return 0;
}
