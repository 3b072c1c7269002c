/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_collect.h"

#include "base/hashmap.h"
#include "base/saturate.h"
#include "report/view/view_resolve.h"
#include "report/view/view_series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct collector {
	struct view_resolver resolver;
	struct pieces *pieces;
	const struct view_timeline *timeline;
	uint64_t mark_ns;
	uint64_t growth_span_ns;
	struct hashmap by_places; /* of the sites */
	struct view_site *sites;  /* there is room for all: those of large runs take most memory */
	size_t n_sites;
	uint64_t born_bytes[GROWTH_BIRTHS]; /* of all heap sites */
};

static uint64_t places_hash(const void *item)
{
	const struct view_site *site = item;

	return hash_u64(view_stack_hash(&site->stack) + site->class);
}

static bool places_equal(const void *item_a, const void *item_b)
{
	const struct view_site *a = item_a, *b = item_b;

	return a->class == b->class && view_stack_equal(&a->stack, &b->stack);
}

static const struct hashmap_ops places_ops = { .hash = places_hash, .equal = places_equal };

static void site_done(struct view_site *site)
{
	view_stack_done(&site->stack);
	view_series_done(&site->series);
}

static void merge_sites(struct view_site *into, struct view_site *site, size_t n_points)
{
	into->live_bytes = saturate_add(into->live_bytes, site->live_bytes);
	into->live_blocks = saturate_add(into->live_blocks, site->live_blocks);
	into->peak_bytes = saturate_add(into->peak_bytes, site->peak_bytes);
	into->young_bytes = saturate_add(into->young_bytes, site->young_bytes);
	into->live_variance += site->live_variance;
	into->bytes_variance += site->bytes_variance;
	into->samples += site->samples;
	into->live_samples += site->live_samples;
	if (site->live_beyond > into->live_beyond)
		into->live_beyond = site->live_beyond;
	if (site->most_beyond > into->most_beyond)
		into->most_beyond = site->most_beyond;
	into->blocks_variance += site->blocks_variance;
	into->allocs_variance += site->allocs_variance;
	into->inherited_bytes = saturate_add(into->inherited_bytes, site->inherited_bytes);
	into->young_blocks = saturate_add(into->young_blocks, site->young_blocks);
	if (site->lifetime_ns != VIEW_UNKNOWN) {
		into->peak_blocks = saturate_add_u64(into->peak_blocks, site->peak_blocks);
		into->lifetime_ns = saturate_add_u64(into->lifetime_ns, site->lifetime_ns);
	}
	into->growth_bytes = saturate_add(into->growth_bytes, site->growth_bytes);
	into->allocs += site->allocs;
	into->bytes += site->bytes;
	if (site->temporary != VIEW_UNKNOWN)
		into->temporary += site->temporary;
	if (into->oldest_ns == VIEW_UNKNOWN ||
	    (site->oldest_ns != VIEW_UNKNOWN && site->oldest_ns > into->oldest_ns))
		into->oldest_ns = site->oldest_ns;
	if (site->newest_ns < into->newest_ns)
		into->newest_ns = site->newest_ns;
	for (size_t i = 0; i < GROWTH_BIRTHS; i++)
		into->born_bytes[i] += site->born_bytes[i];
	into->stack.truncated |= site->stack.truncated;
	view_series_merge(&into->series, &site->series, n_points);
}

/* Takes the series of `values` over, also when it fails. */
static int add_site(struct collector *c, const struct model_process *image, uint16_t fn,
		    uint64_t stack_id, struct view_site *values)
{
	struct view_site *site = &c->sites[c->n_sites], *same;
	int r;

	*site = *values;
	r = view_resolve_site(&c->resolver, image, fn, stack_id, &site->stack);
	same = r == 0 ? hashmap_find(&c->by_places, site) : NULL;
	if (same)
		merge_sites(same, site, c->timeline->n);
	else if (r == 0)
		r = view_stack_share(&site->stack, c->pieces);
	if (r == 0 && !same)
		r = hashmap_insert(&c->by_places, site);
	if (same || r < 0) {
		site_done(site);
		return r;
	}
	site->id = view_stack_id(&site->stack, site->class);
	c->n_sites++;
	return 0;
}

static int add_heap_site(struct collector *c, const struct model_process *image,
			 const struct model_site *from)
{
	const struct record_site *v = &from->values;
	bool is_live = v->live_blocks > 0;
	bool is_sampled = view_image_is_sampled(c->resolver.model, image);
	bool knows_lifetimes = !is_sampled && image->totals.lifetime_resolution_ns > 0;
	uint64_t peak_blocks = v->peak_blocks > 0 ? (uint64_t)v->peak_blocks : 0;
	struct view_site values = {
		.class = VIEW_HEAP,
		.live_bytes = v->live_bytes,
		.live_blocks = v->live_blocks,
		.peak_bytes = v->peak_bytes,
		.young_bytes = v->young_bytes,
		.young_blocks = v->young_blocks,
		.growth_bytes = from->growth_bytes,
		.allocs = v->allocs,
		.bytes = v->bytes,
		.temporary = is_sampled ? VIEW_UNKNOWN : v->temporary,
		.peak_blocks = knows_lifetimes ? peak_blocks : VIEW_UNKNOWN,
		.lifetime_ns = knows_lifetimes ? v->lifetime_ns : VIEW_UNKNOWN,
		.live_variance = (double)v->se_live_bytes * (double)v->se_live_bytes,
		.bytes_variance = (double)v->se_bytes * (double)v->se_bytes,
		.samples = v->samples,
		.live_samples = v->live_samples,
		.live_beyond = v->live_beyond,
		.most_beyond = v->most_beyond,
		.blocks_variance = v->blocks_variance,
		.allocs_variance = v->allocs_variance,
		.inherited_bytes = v->inherited_bytes,
		.oldest_ns = is_live ? v->oldest_ns : VIEW_UNKNOWN,
		.newest_ns = is_live ? v->newest_ns : VIEW_UNKNOWN,
	};

	int r;

	_Static_assert(sizeof(values.born_bytes) == sizeof(v->born_bytes), "the same parts");
	memcpy(values.born_bytes, v->born_bytes, sizeof(values.born_bytes));
	r = view_series_init(c->resolver.model, c->timeline, v, &values.series);

	return r ? r : add_site(c, image, v->fn, v->stack, &values);
}

static uint64_t age_ns(uint64_t birth_ns, uint64_t now_ns)
{
	if (birth_ns == UINT64_MAX)
		return VIEW_UNKNOWN;
	return birth_ns < now_ns ? now_ns - birth_ns : 0;
}

static int add_mmap_site(struct collector *c, const struct model_process *image,
			 const struct region_site *v, uint64_t now_ns)
{
	struct view_site values = {
		.class = VIEW_MMAP,
		.live_bytes = v->live_bytes,
		.live_blocks = v->live_blocks,
		.peak_bytes = v->peak_bytes,
		.young_bytes = v->young_bytes,
		.young_blocks = v->young_blocks,
		.growth_bytes = v->growth_bytes,
		.allocs = v->allocs,
		.bytes = v->bytes,
		.temporary = VIEW_UNKNOWN,
		.peak_blocks = VIEW_UNKNOWN,
		.lifetime_ns = VIEW_UNKNOWN,
		.oldest_ns = age_ns(v->oldest_birth_ns, now_ns),
		.newest_ns = age_ns(v->newest_birth_ns, now_ns),
	};

	return add_site(c, image, v->fn, v->stack, &values);
}

static int add_sites(struct collector *c, const struct model_process *image)
{
	_cleanup_free_ struct region_site *mapped = NULL;
	uint64_t now_ns = model_now_ns(c->resolver.model);
	size_t n_mapped = 0;
	int r = 0;

	if (image->ended && image->end_ns < now_ns)
		now_ns = image->end_ns;
	if (image->regions)
		r = regions_sites(image->regions, c->mark_ns, &mapped, &n_mapped);
	if (r < 0)
		return r;
	c->sites = calloc(image->n_sites + n_mapped + 1, sizeof(c->sites[0]));
	if (!c->sites)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < image->n_sites; i++)
		r = add_heap_site(c, image, &image->sites[i]);
	for (size_t i = 0; r == 0 && i < n_mapped; i++)
		r = add_mmap_site(c, image, &mapped[i], now_ns);
	return r;
}

static int compare_sites(const void *item_a, const void *item_b, void *userdata)
{
	const struct view_site *a = item_a, *b = item_b;
	const struct report_opts *opts = userdata;
	int64_t weight_a = view_site_weight(a, opts->sort);
	int64_t weight_b = view_site_weight(b, opts->sort);

	if (opts->sort == SORT_GROWTH && view_site_urgency(a) != view_site_urgency(b))
		return view_site_urgency(a) > view_site_urgency(b) ? -1 : 1;
	if (weight_a != weight_b)
		return weight_a > weight_b ? -1 : 1;
	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Unknown ages pass where there is something live: what may be old is not hidden. */
static bool passes_filter(const struct view_site *site, const struct report_opts *opts)
{
	if (opts->older_than_ns == 0)
		return true;
	return site->live_blocks > 0 && site->oldest_ns >= opts->older_than_ns;
}

/* As view_clamp, of bytes and their blocks: without blocks nothing is live. */
static void clamp_live(int64_t *bytes, int64_t *blocks, bool *exact)
{
	view_clamp(bytes, exact);
	view_clamp(blocks, exact);
	if (*blocks > 0 || *bytes == 0)
		return;
	*bytes = 0;
	*exact = false;
}

static void estimate(struct view_site *site, const struct view_process *process)
{
	const struct view_sampled sampled = {
		.live_bytes = site->live_bytes,
		.live_blocks = site->live_blocks,
		.peak_bytes = site->peak_bytes,
		.inherited_bytes = site->inherited_bytes,
		.blocks_variance = site->blocks_variance,
		.allocs_variance = site->allocs_variance,
		.allocs = site->allocs,
		.bytes = site->bytes,
		.se_live_bytes = saturate_u64(ceil(sqrt(site->live_variance))),
		.se_bytes = saturate_u64(ceil(sqrt(site->bytes_variance))),
		.samples = site->samples,
		.live_samples = site->live_samples,
		.live_beyond = site->live_beyond,
		.most_beyond = site->most_beyond,
		.is_site = true,
	};

	if (site->class == VIEW_HEAP)
		site->estimate = view_estimate(process->totals.sample_interval, &sampled);
}

/* The sites that pass are the process's. */
static void hand_over(struct collector *c, const struct report_opts *opts,
		      struct view_process *process)
{
	struct report_opts sort_opts = *opts;

	process->sites = TAKE_PTR(c->sites);
	for (size_t j = 0; j < c->n_sites; j++) {
		struct view_site *site = &process->sites[j];

		clamp_live(&site->live_bytes, &site->live_blocks, &process->exact);
		view_clamp(&site->peak_bytes, &process->exact);
		estimate(site, process);
		view_judge_site(&process->timeline, c->growth_span_ns, site);
		for (size_t i = 0; i < GROWTH_BIRTHS; i++)
			c->born_bytes[i] += site->born_bytes[i];
		if (passes_filter(site, opts)) {
			process->sites[process->n_sites++] = *site;
		} else {
			process->n_left_out++;
			process->left_out_bytes =
				saturate_add(process->left_out_bytes, site->live_bytes);
			site_done(site);
		}
	}
	qsort_r(process->sites, process->n_sites, sizeof(process->sites[0]), compare_sites,
		&sort_opts);
}

int view_collect(const struct view_resolver *resolver, const struct report_opts *opts,
		 struct pieces *pieces, struct view_process *process)
{
	const struct model *model = resolver->model;
	struct collector c = {
		.resolver = *resolver,
		.pieces = pieces,
		.by_places.ops = &places_ops,
		.timeline = &process->timeline,
		.mark_ns = opts->mark_ns,
		.growth_span_ns = model_run(model) ? model_run(model)->growth_span_ns : 0,
	};
	const struct model_process *image = process->image;
	int r = add_sites(&c, image);

	hashmap_done(&c.by_places);
	if (r < 0) {
		view_collect_free(c.sites, c.n_sites);
		return r;
	}
	hand_over(&c, opts, process);
	view_judge_process(process, c.growth_span_ns, c.born_bytes);
	return 0;
}

void view_collect_free(struct view_site *sites, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		view_frees_done(&sites[i].frees);
		view_stack_done(&sites[i].stack);
		view_series_done(&sites[i].series);
	}
	free(sites);
}
