/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_series.h"

#include "base/saturate.h"
#include "model/series.h"

#include <errno.h>

static int64_t positive(int64_t value)
{
	return value > 0 ? value : 0;
}

static uint64_t since_start(const struct model *model, uint64_t time_ns)
{
	const struct record_run *run = model_run(model);

	return run && time_ns > run->start_ns ? time_ns - run->start_ns : 0;
}

/* When what the report shows of the process was so. */
static uint64_t shown_ns(const struct model *model, const struct model_process *image)
{
	uint64_t now_ns = model_now_ns(model);

	return image->ended && image->end_ns < now_ns ? image->end_ns : now_ns;
}

static struct view_point point_of(const struct model *model, const struct record_totals *totals,
				  const struct record_sample_process *sample, uint64_t time_ns)
{
	return (struct view_point){
		.time_ns = since_start(model, time_ns),
		.live_bytes = positive(saturate_add(sample->live_bytes, totals->inherited_bytes)),
		.live_blocks =
			positive(saturate_add(sample->live_blocks, totals->inherited_blocks)),
		.allocs = sample->allocs,
		.frees = sample->frees,
		.bytes = sample->bytes,
		.rss_bytes = sample->rss_bytes,
		.cgroup_bytes = sample->cgroup_bytes ? sample->cgroup_bytes : UINT64_MAX,
		.pss_bytes = sample->pss_bytes ? sample->pss_bytes : UINT64_MAX,
	};
}

static struct view_point last_point(const struct model *model, const struct record_totals *totals,
				    uint64_t time_ns)
{
	return (struct view_point){
		.time_ns = since_start(model, time_ns),
		.live_bytes = positive(totals->live_bytes),
		.live_blocks = positive(totals->live_blocks),
		.allocs = totals->allocs,
		.frees = totals->frees,
		.bytes = totals->bytes,
		.rss_bytes = UINT64_MAX,
		.cgroup_bytes = UINT64_MAX,
		.pss_bytes = UINT64_MAX,
	};
}

static struct view_point death_point(const struct model *model, const struct record_death *death)
{
	uint64_t rss_bytes =
		saturate_add_u64(death->anon, saturate_add_u64(death->file, death->shared));

	return (struct view_point){
		.time_ns = since_start(model, death->time_ns),
		.rss_bytes = rss_bytes,
		.cgroup_bytes = death->cgroup && death->use.used ? death->use.used : UINT64_MAX,
		.pss_bytes = UINT64_MAX,
	};
}

/* Where nothing counted allocations, though others may have been counted. */
static bool is_of_growth(const struct model *model, const struct model_process *image)
{
	const struct record_run *run = model_run(model);

	return image->depth == RECORD_DEPTH_GROWTH ||
	       (run && (run->no_allocations || run->no_heap));
}

/* Appends the samples of before; *ret_n is how many there are, later ones too. */
static int add_samples(const struct model *model, const struct model_process *image,
		       uint64_t end_ns, struct view_timeline *timeline, size_t *ret_n)
{
	struct series_process samples = { 0 };
	const uint64_t *times;
	size_t n;

	times = series_times(model_series(model), &n);
	if (!series_of_process(model_series(model), image->id, &samples) || samples.first > n ||
	    samples.n > n - samples.first)
		samples.n = 0;
	*ret_n = samples.n;
	timeline->points = calloc(samples.n + 1, sizeof(*timeline->points));
	if (!timeline->points)
		return -ENOMEM;
	timeline->first = samples.first;
	for (size_t i = 0; i < samples.n && times[samples.first + i] < end_ns; i++)
		timeline->points[timeline->n++] = point_of(
			model, &image->totals, &samples.points[i], times[samples.first + i]);
	timeline->n_samples = timeline->n;
	return 0;
}

/* The same of who looked instead, of which the run's part is taken, and room for one more. */
static int add_usage(const struct model *model, const struct report_usage *usage,
		     const struct model_process *image, uint64_t end_ns,
		     struct view_timeline *timeline)
{
	const struct record_run *run = model_run(model);
	_cleanup_free_ struct view_point *points = NULL;
	struct view_point *more;
	size_t n = 0;
	int r = usage->points(image, usage->userdata, &points, &n);

	more = r == 0 && n ? reallocarray(timeline->points, n + 1, sizeof(*more)) : NULL;
	if (r < 0 || n == 0)
		return r;
	if (!more)
		return -ENOMEM;
	timeline->points = more;
	for (size_t i = 0; i < n && points[i].time_ns < end_ns; i++) {
		if (!run || points[i].time_ns < run->start_ns)
			continue;
		more[timeline->n] = points[i];
		more[timeline->n++].time_ns = since_start(model, points[i].time_ns);
	}
	return 0;
}

/* Those of the end, too: what the report shows, or what the process had when it was killed. */
static int add_points(const struct model *model, const struct report_usage *usage,
		      const struct model_process *image, struct view_timeline *timeline)
{
	bool has_death = !timeline->has_heap && image->has_death && image->death.has_memory;
	uint64_t end_ns = has_death ? image->death.time_ns : shown_ns(model, image);
	size_t n_samples = 0;
	int r = add_samples(model, image, end_ns, timeline, &n_samples);

	if (r == 0 && usage && !timeline->has_heap && n_samples == 0)
		r = add_usage(model, usage, image, end_ns, timeline);
	if (r < 0)
		return r;
	if (timeline->has_heap)
		timeline->points[timeline->n++] = last_point(model, &image->totals, end_ns);
	else if (has_death)
		timeline->points[timeline->n++] = death_point(model, &image->death);
	return 0;
}

/* The mark that the kernel keeps; without, the most that a point has. */
static void find_peak_rss(const struct record_totals *totals, struct view_timeline *timeline)
{
	uint64_t most = totals->peak_rss_bytes;

	for (size_t i = 0; i < timeline->n; i++) {
		uint64_t bytes = timeline->points[i].rss_bytes;

		if (bytes != UINT64_MAX && bytes > most)
			most = bytes;
	}
	timeline->peak_rss_bytes = most ? most : UINT64_MAX;
	timeline->peak_rss_exact = totals->peak_rss_bytes && !totals->peak_rss_is_least;
}

int view_timeline_init(const struct model *model, const struct report_usage *usage,
		       const struct model_process *image, struct view_timeline *timeline)
{
	int r;

	*timeline = (struct view_timeline){ .peak_ns = UINT64_MAX, .peak_rss_bytes = UINT64_MAX };
	if (!image->has_totals && !is_of_growth(model, image))
		return 0;
	timeline->has_heap = image->has_totals;
	if (image->has_totals && image->totals.peak_ns)
		timeline->peak_ns = since_start(model, image->totals.peak_ns);
	r = add_points(model, usage, image, timeline);
	find_peak_rss(&image->totals, timeline);
	return r;
}

void view_timeline_done(struct view_timeline *timeline)
{
	free(timeline->points);
}

int view_series_init(const struct model *model, const struct view_timeline *timeline,
		     const struct record_site *site, struct view_series *series)
{
	size_t first, last = timeline->first + timeline->n_samples;
	struct series_site s;

	*series = (struct view_series){ 0 };
	if (!timeline->n ||
	    !series_of_site(model_series(model), site->image, site->fn, site->stack, &s))
		return 0;
	series->live_bytes = calloc(timeline->n, sizeof(*series->live_bytes));
	if (!series->live_bytes)
		return -ENOMEM;
	first = s.first > timeline->first ? s.first - timeline->first : 0;
	/* Before it was first seen it held what it had inherited, unless it was too small. */
	series->first = s.cut ? first : 0;
	for (size_t i = 0; i < timeline->n_samples; i++) {
		size_t at = timeline->first + i;
		int64_t own = at >= s.first && at < last && at - s.first < s.n ?
				      s.live_bytes[at - s.first] :
				      0;

		series->live_bytes[i] = positive(saturate_add(own, site->inherited_bytes));
	}
	series->live_bytes[timeline->n - 1] = positive(site->live_bytes);
	return 0;
}

void view_series_done(struct view_series *series)
{
	free(series->live_bytes);
}

void view_series_merge(struct view_series *into, struct view_series *from, size_t n)
{
	if (!from->live_bytes)
		return;
	if (!into->live_bytes) {
		*into = *from;
		*from = (struct view_series){ 0 };
		return;
	}
	if (from->first > into->first)
		into->first = from->first;
	for (size_t i = 0; i < n; i++)
		into->live_bytes[i] = saturate_add(into->live_bytes[i], from->live_bytes[i]);
}
