/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/series.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "trace/record/image.h"

#include <errno.h>

struct process_series {
	image_t image;
	size_t first;
	VEC(struct record_sample_process) points;
};

struct site_series {
	image_t image;
	uint16_t fn;
	uint64_t stack;
	size_t first;
	bool cut;
	VEC(int64_t) live_bytes;
};

struct series {
	VEC(uint64_t) times;
	unsigned int halvings;
	struct hashmap processes, sites;
	bool forgot;	   /* sites were dropped, or have never had room */
	uint64_t left_out; /* by the latest sample */
	uint64_t processes_left_out;
	/* The sample that is being read. */
	bool in_sample;
	uint64_t next_ns;
	VEC(struct record_sample_process) next_processes;
	VEC(struct record_sample_site) next_sites;
};

static void process_free(void *item)
{
	struct process_series *process = item;

	vec_done(&process->points);
	free(process);
}

static void site_free(void *item)
{
	struct site_series *site = item;

	vec_done(&site->live_bytes);
	free(site);
}

DEFINE_HASHMAP_OPS(process_ops, struct process_series, process_free, image.n);
DEFINE_HASHMAP_OPS(site_ops, struct site_series, site_free, stack, image.n, fn);

int series_new(struct series **ret_series)
{
	struct series *series = calloc(1, sizeof(*series));

	if (!series)
		return -ENOMEM;
	series->processes.ops = &process_ops;
	series->sites.ops = &site_ops;
	*ret_series = series;
	return 0;
}

void series_free(struct series *series)
{
	if (!series)
		return;
	vec_done(&series->times);
	vec_done(&series->next_processes);
	vec_done(&series->next_sites);
	hashmap_done(&series->processes);
	hashmap_done(&series->sites);
	free(series);
}

/* --- dropping every second sample ------------------------------------------------------------ */

/*
 * Of samples 0, 1, 2, 3... the second of each pair stays: so the newest does. Returns how many of
 * the n values from sample `first` on stay; value i of those is old value 2 * (i + first / 2) + 1 -
 * first.
 */
static size_t halved(size_t first, size_t n)
{
	return (first + n) / 2 - first / 2;
}

static size_t old_index(size_t first, size_t i)
{
	return 2 * (i + first / 2) + 1 - first;
}

static void halve_process(struct process_series *p)
{
	size_t n = halved(p->first, p->points.len);

	for (size_t i = 0; i < n; i++) {
		size_t old = old_index(p->first, i);
		uint64_t pss_before = old > 0 ? p->points.data[old - 1].pss_bytes : 0;

		p->points.data[i] = p->points.data[old];
		/* It is not read each time: half of what was read would go. */
		if (!p->points.data[i].pss_bytes)
			p->points.data[i].pss_bytes = pss_before;
	}
	p->points.len = n;
	p->first /= 2;
}

static void halve_site(struct site_series *s)
{
	size_t n = halved(s->first, s->live_bytes.len);

	for (size_t i = 0; i < n; i++)
		s->live_bytes.data[i] = s->live_bytes.data[old_index(s->first, i)];
	s->live_bytes.len = n;
	s->first /= 2;
}

static void halve(struct series *series)
{
	struct process_series *process;
	struct site_series *site;
	size_t pos = 0;

	for (size_t i = 0; i < series->times.len / 2; i++)
		series->times.data[i] = series->times.data[2 * i + 1];
	series->times.len /= 2;
	while ((process = hashmap_next(&series->processes, &pos)))
		halve_process(process);
	pos = 0;
	while ((site = hashmap_next(&series->sites, &pos)))
		halve_site(site);
	series->halvings++;
}

/* --- taking in a sample ---------------------------------------------------------------------- */

int series_begin(struct series *series, const struct record_sample *record)
{
	series->in_sample = true;
	series->next_ns = record->time_ns;
	series->next_processes.len = 0;
	series->next_sites.len = 0;
	return 0;
}

int series_add_process(struct series *series, const struct record_sample_process *record)
{
	return series->in_sample ? vec_push(&series->next_processes, *record) : -EPROTO;
}

int series_add_site(struct series *series, const struct record_sample_site *record)
{
	return series->in_sample ? vec_push(&series->next_sites, *record) : -EPROTO;
}

static int apply_process(struct series *series, const struct record_sample_process *record)
{
	size_t at = series->times.len - 1;
	const struct process_series added = { .image = record->image, .first = at };
	struct process_series *process = hashmap_find(&series->processes, &added);

	if (!process && series->processes.len >= SERIES_PROCESSES) {
		series->processes_left_out++;
		return 0;
	}
	process = hashmap_intern(&series->processes, &added, sizeof(added), NULL);
	if (!process)
		return -ENOMEM;
	/* One that was in no sample between would have a hole: damaged input. */
	if (process->first + process->points.len != at)
		return 0;
	return vec_push(&process->points, *record);
}

/* Was the process in the sample that is being taken in? */
static bool is_sampled(const struct series *series, image_t image)
{
	struct process_series key = { .image = image };
	const struct process_series *process = hashmap_find(&series->processes, &key);

	return process && process->first + process->points.len == series->times.len;
}

static int compare_latest(const void *item_a, const void *item_b)
{
	const struct site_series *a = *(const struct site_series *const *)item_a;
	const struct site_series *b = *(const struct site_series *const *)item_b;
	int64_t x = a->live_bytes.len ? a->live_bytes.data[a->live_bytes.len - 1] : 0;
	int64_t y = b->live_bytes.len ? b->live_bytes.data[b->live_bytes.len - 1] : 0;

	return (x > y) - (x < y);
}

/* The half that held least makes room for others. */
static int forget_small_sites(struct series *series)
{
	size_t n = series->sites.len, i = 0, pos = 0;
	_cleanup_free_ struct site_series **sites = calloc(n + 1, sizeof(*sites));
	struct site_series *site;

	if (!sites)
		return -ENOMEM;
	while ((site = hashmap_next(&series->sites, &pos)))
		sites[i++] = site;
	qsort(sites, n, sizeof(*sites), compare_latest);
	for (i = 0; i < n / 2; i++)
		site_free(hashmap_remove(&series->sites, sites[i]));
	series->forgot = true;
	return 0;
}

static int apply_site(struct series *series, const struct record_sample_site *record)
{
	size_t at = series->times.len - 1;
	struct site_series added = {
		.image = record->image, .fn = record->fn, .stack = record->stack, .first = at
	};
	struct site_series *site = hashmap_find(&series->sites, &added);

	if (!is_sampled(series, record->image))
		return 0;
	if (!site && series->sites.len >= SERIES_SITES && forget_small_sites(series) < 0)
		return -ENOMEM;
	added.cut = series->forgot;
	site = hashmap_intern(&series->sites, &added, sizeof(added), NULL);
	if (!site)
		return -ENOMEM;
	if (site->first + site->live_bytes.len != at)
		return 0;
	return vec_push(&site->live_bytes, record->live_bytes);
}

/*
 * A site without a record holds nothing; where small ones were left out, no more than those. What
 * has ended gets no more values.
 */
static int fill_sites(struct series *series, const struct record_sample_end *record)
{
	struct site_series *site;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (site = hashmap_next(&series->sites, &pos))) {
		int64_t most = record->n_left_out ? record->most_bytes : 0;
		size_t n = site->live_bytes.len;

		if (site->first + n + 1 != series->times.len || !is_sampled(series, site->image))
			continue;
		if (n && site->live_bytes.data[n - 1] < most)
			most = site->live_bytes.data[n - 1];
		r = vec_push(&site->live_bytes, most);
	}
	return r;
}

int series_end(struct series *series, const struct record_sample_end *record)
{
	size_t n = series->times.len;
	int r;

	if (!series->in_sample)
		return -EPROTO;
	series->in_sample = false;
	/* Times only grow, but in damaged input. */
	if (n && series->next_ns <= series->times.data[n - 1])
		return 0;
	r = vec_push(&series->times, series->next_ns);
	series->processes_left_out = record->n_processes_left_out;
	for (size_t i = 0; r == 0 && i < series->next_processes.len; i++)
		r = apply_process(series, &series->next_processes.data[i]);
	for (size_t i = 0; r == 0 && i < series->next_sites.len; i++)
		r = apply_site(series, &series->next_sites.data[i]);
	if (r == 0)
		r = fill_sites(series, record);
	series->left_out = record->n_left_out;
	series->forgot |= record->n_left_out > 0;
	if (r == 0 && series->times.len == SERIES_POINTS)
		halve(series);
	return r;
}

/* --- forgetting ------------------------------------------------------------------------------ */

static int forget_sites(struct series *series, const image_t *images, size_t n)
{
	VEC(struct site_series *) gone = { 0 };
	struct site_series *site;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && (site = hashmap_next(&series->sites, &pos)))
		if (image_list_has(images, n, site->image))
			r = vec_push(&gone, site);
	vec_foreach(&gone, it)
		site_free(hashmap_remove(&series->sites, *it));
	vec_done(&gone);
	return r;
}

int series_forget(struct series *series, const image_t *images, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct process_series key = { .image = images[i] };
		struct process_series *process = hashmap_remove(&series->processes, &key);

		if (process)
			process_free(process);
	}
	return forget_sites(series, images, n);
}

/* --- reading --------------------------------------------------------------------------------- */

const uint64_t *series_times(const struct series *series, size_t *ret_n)
{
	*ret_n = series->times.len;
	return series->times.data;
}

unsigned int series_halvings(const struct series *series)
{
	return series->halvings;
}

uint64_t series_left_out(const struct series *series)
{
	return series->left_out;
}

uint64_t series_processes_left_out(const struct series *series)
{
	return series->processes_left_out;
}

bool series_of_process(const struct series *series, image_t image, struct series_process *ret)
{
	struct process_series key = { .image = image };
	const struct process_series *process = hashmap_find(&series->processes, &key);

	if (!process)
		return false;
	*ret = (struct series_process){ process->first, process->points.len, process->points.data };
	return true;
}

bool series_of_site(const struct series *series, image_t image, uint16_t fn, uint64_t stack,
		    struct series_site *ret)
{
	struct site_series key = { .image = image, .fn = fn, .stack = stack };
	const struct site_series *site = hashmap_find(&series->sites, &key);

	if (!site)
		return false;
	*ret = (struct series_site){ site->first, site->live_bytes.len, site->live_bytes.data,
				     site->cut };
	return true;
}
