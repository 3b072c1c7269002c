/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_site.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/saturate.h"
#include "base/vec.h"
#include "model/series.h"
#include "report/leak/leak_result.h"
#include "report/report_opts.h"
#include "report/view/view_resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct view_site view_site_in_sums(const struct view_process *process, const struct view_site *site)
{
	struct view_site summed = *site;

	if (!process->is_past)
		return summed;
	summed.live_bytes = summed.live_blocks = summed.peak_bytes = summed.growth_bytes = 0;
	summed.peak_blocks = 0;
	summed.young_bytes = summed.young_blocks = 0;
	summed.estimate.samples = summed.estimate.ci95_bytes = summed.estimate.ci95_blocks = 0;
	summed.estimate.ci95_peak_bytes = 0;
	summed.has_growth = false;
	return summed;
}

int64_t view_site_weight(const struct view_site *site, enum option_sort sort)
{
	switch (sort) {
	case SORT_BYTES:
		return site->live_bytes;
	case SORT_COUNT:
		return site->live_blocks;
	case SORT_GROWTH:
		return site->growth_bytes;
	case SORT_PEAK:
		return site->peak_bytes;
	case SORT_TEMPORARY:
		return (int64_t)view_site_temporary(site);
	}
	return site->live_bytes;
}

enum option_sort view_site_quantity(enum option_sort sort)
{
	return sort == SORT_PEAK || sort == SORT_TEMPORARY ? sort : SORT_BYTES;
}

uint64_t view_site_mean_size(const struct view_site *site)
{
	if (site->allocs > 0)
		return site->bytes / site->allocs;
	if (site->live_blocks > 0 && site->live_bytes >= 0)
		return (uint64_t)site->live_bytes / (uint64_t)site->live_blocks;
	return VIEW_UNKNOWN;
}

struct found {
	uint64_t id;
	uint8_t class;
};

static int compare_found(const void *item_a, const void *item_b)
{
	const struct found *a = item_a, *b = item_b;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->class - b->class;
}

static int find_ids(const struct view_resolver *resolver, const struct model_process *image,
		    const struct leak_result *leaks, struct found *found)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < leaks->n_places; i++) {
		struct view_stack stack;

		r = view_resolve_site(resolver, image, leaks->places[i].fn, leaks->places[i].stack,
				      &stack);
		if (r == 0)
			found[i] = (struct found){ view_stack_id(&stack, VIEW_HEAP),
						   leaks->classes[i] };
		view_stack_done(&stack);
	}
	return r;
}

/* The first of those with the site's id is the worst. */
static enum reach_class class_of(const struct view_site *site, const struct found *found, size_t n)
{
	size_t low = partition_point(n, i, found[i].id < site->id);

	if (site->class != VIEW_HEAP || low >= n || found[low].id != site->id)
		return REACH_CLASSES;
	return found[low].class;
}

int view_leaks_init(const struct view_resolver *resolver, const struct report_opts *opts,
		    struct view_process *process)
{
	_cleanup_free_ struct found *found = NULL;
	int r;

	for (size_t i = 0; i < process->n_sites; i++)
		process->sites[i].leak = REACH_CLASSES;
	for (size_t i = 0; i < opts->n_leaks; i++)
		if (image_is(opts->leaks[i]->seen.image, process->image->id))
			process->leaks = opts->leaks[i];
	if (!process->leaks)
		return 0;
	found = calloc(process->leaks->n_places + 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	r = find_ids(resolver, process->image, process->leaks, found);
	if (r < 0)
		return r;
	qsort(found, process->leaks->n_places, sizeof(*found), compare_found);
	for (size_t i = 0; i < process->n_sites; i++)
		process->sites[i].leak =
			class_of(&process->sites[i], found, process->leaks->n_places);
	return 0;
}

struct judged {
	uint64_t times_ns[SERIES_POINTS];
	int64_t live_bytes[SERIES_POINTS];
};

/*
 * Samples without those before `first`. What the report shows is left out: of a program that has
 * ended that may be after its exit handlers have freed everything.
 */
static size_t usable(const struct view_timeline *timeline, size_t first)
{
	size_t n = timeline->n_samples;

	return timeline->has_heap && n <= SERIES_POINTS && n > first ? n - first : 0;
}

void view_judge_site(const struct view_timeline *timeline, uint64_t least_span_ns,
		     struct view_site *site)
{
	const struct view_series *series = &site->series;
	struct judged points;
	struct growth_input input = { .times_ns = points.times_ns,
				      .live_bytes = points.live_bytes,
				      .least_span_ns = least_span_ns,
				      .oldest_ns = site->oldest_ns,
				      .frees = site->allocs > (uint64_t)site->live_blocks };
	size_t n = series->live_bytes ? usable(timeline, series->first) : 0;

	for (size_t i = 0; i < n; i++) {
		points.times_ns[i] = timeline->points[series->first + i].time_ns;
		points.live_bytes[i] = series->live_bytes[series->first + i];
	}
	memcpy(input.born_bytes, site->born_bytes, sizeof(input.born_bytes));
	input.n = n;
	site->has_growth = growth_judge(&input, &site->growth);
}

void view_judge_process(struct view_process *process, uint64_t least_span_ns,
			const uint64_t born_bytes[GROWTH_BIRTHS])
{
	const struct view_timeline *timeline = &process->timeline;
	struct judged points;
	struct growth_input input = { .times_ns = points.times_ns,
				      .live_bytes = points.live_bytes,
				      .least_span_ns = least_span_ns,
				      .oldest_ns = UINT64_MAX,
				      .frees = process->totals.frees > 0 };
	size_t n = usable(timeline, 0);

	for (size_t i = 0; i < n; i++) {
		points.times_ns[i] = timeline->points[i].time_ns;
		points.live_bytes[i] = timeline->points[i].live_bytes;
	}
	memcpy(input.born_bytes, born_bytes, sizeof(input.born_bytes));
	input.n = n;
	process->has_growth = growth_judge(&input, &process->growth);
}

/* A site as pairs are told its own by: its places. */
static uint64_t places_hash(const void *item)
{
	const struct view_site *site = item;

	return view_stack_hash(&site->stack);
}

static bool places_equal(const void *item_a, const void *item_b)
{
	const struct view_site *a = item_a, *b = item_b;

	return view_stack_equal(&a->stack, &b->stack);
}

static const struct hashmap_ops places_ops = { .hash = places_hash, .equal = places_equal };

static int compare_pairs(const void *item_a, const void *item_b)
{
	const struct record_free_pair *a = *(const struct record_free_pair *const *)item_a;
	const struct record_free_pair *b = *(const struct record_free_pair *const *)item_b;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->fn != b->fn)
		return a->fn < b->fn ? -1 : 1;
	if (a->free_stack != b->free_stack)
		return a->free_stack < b->free_stack ? -1 : 1;
	return (a->free_fn > b->free_fn) - (a->free_fn < b->free_fn);
}

static void add_values(struct view_free *to, const struct record_free_pair *from)
{
	to->count = saturate_add_u64(to->count, from->count);
	to->bytes = saturate_add_u64(to->bytes, from->bytes);
	to->others = saturate_add_u64(to->others, from->others);
	to->unknown = saturate_add_u64(to->unknown, from->unknown);
	to->total_ns = saturate_add_u64(to->total_ns, from->total_ns);
	for (size_t i = 0; i < RECORD_LIFETIMES; i++)
		to->lifetimes[i] = saturate_add_u64(to->lifetimes[i], from->lifetimes[i]);
}

/* The place in the list whose stack this is, or a new one, which takes the stack over. */
static int add_place(struct view_frees *frees, struct view_stack *stack, struct view_free **ret)
{
	struct view_free *list;

	for (size_t i = 0; i < frees->n; i++) {
		if (!view_stack_equal(&frees->list[i].stack, stack))
			continue;
		*ret = &frees->list[i];
		return 0;
	}
	list = reallocarray(frees->list, frees->n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	frees->list = list;
	list[frees->n] = (struct view_free){ .stack = *stack };
	*stack = (struct view_stack){ 0 };
	*ret = &list[frees->n++];
	return 0;
}

static int add_pair(const struct view_resolver *resolver, const struct model_process *image,
		    const struct record_free_pair *pair, struct view_site *site)
{
	struct view_stack stack = { 0 };
	struct view_free *place = NULL;
	int r = view_resolve_site(resolver, image, pair->free_fn, pair->free_stack, &stack);

	if (r == 0)
		r = add_place(&site->frees, &stack, &place);
	view_stack_done(&stack);
	if (r < 0)
		return r;
	add_values(place, pair);
	site->frees.count = saturate_add_u64(site->frees.count, pair->count);
	site->frees.unknown = saturate_add_u64(site->frees.unknown, pair->unknown);
	site->frees.total_ns = saturate_add_u64(site->frees.total_ns, pair->total_ns);
	return 0;
}

/* The site that the pair's blocks are of; NULL: it is not shown. */
static int find_site(const struct view_resolver *resolver, const struct model_process *image,
		     const struct record_free_pair *pair, const struct hashmap *sites,
		     struct view_site **ret_site)
{
	struct view_site key = { 0 };
	int r = view_resolve_site(resolver, image, pair->fn, pair->stack, &key.stack);

	*ret_site = r == 0 ? hashmap_find(sites, &key) : NULL;
	view_stack_done(&key.stack);
	return r;
}

static int compare_places(const void *item_a, const void *item_b)
{
	const struct view_free *a = item_a, *b = item_b;
	uint64_t id_a, id_b;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	id_a = view_stack_id(&a->stack, 0);
	id_b = view_stack_id(&b->stack, 0);
	return (id_a > id_b) - (id_a < id_b);
}

static int add_pairs(const struct view_resolver *resolver, const struct model_process *image,
		     const struct hashmap *sites, const struct record_free_pair **pairs)
{
	struct view_site *site = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < image->n_free_pairs; i++) {
		const struct record_free_pair *pair = pairs[i];

		if (i == 0 || pair->stack != pairs[i - 1]->stack || pair->fn != pairs[i - 1]->fn)
			r = find_site(resolver, image, pair, sites, &site);
		if (r == 0 && site)
			r = add_pair(resolver, image, pair, site);
	}
	return r;
}

int view_free_pairs_init(const struct view_resolver *resolver, struct view_process *process)
{
	const struct model_process *image = process->image;
	_cleanup_(hashmap_done) struct hashmap sites = { .ops = &places_ops };
	_cleanup_free_ const struct record_free_pair **pairs =
		calloc(image->n_free_pairs + 1, sizeof(*pairs));
	int r = pairs ? 0 : -ENOMEM;

	if (r < 0 || image->n_free_pairs == 0)
		return r;
	for (size_t i = 0; r == 0 && i < process->n_sites; i++)
		if (process->sites[i].class == VIEW_HEAP)
			r = hashmap_insert(&sites, &process->sites[i]);
	for (size_t i = 0; i < image->n_free_pairs; i++)
		pairs[i] = &image->free_pairs[i];
	qsort(pairs, image->n_free_pairs, sizeof(*pairs), compare_pairs);
	if (r == 0)
		r = add_pairs(resolver, image, &sites, pairs);
	for (size_t i = 0; r == 0 && i < process->n_sites; i++) {
		struct view_frees *frees = &process->sites[i].frees;

		if (frees->n > 1)
			qsort(frees->list, frees->n, sizeof(frees->list[0]), compare_places);
	}
	return r;
}
