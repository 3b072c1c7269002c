/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_parts.h"

#include "model/series.h"
#include "report/json/json_stacks.h"

void json_add_estimate(struct json_out *out, struct json_object *json,
		       const struct view_estimate *estimate, bool of_process)
{
	struct json_object *of = estimate->interval ? json_out_new(out) : NULL;

	if (!of) {
		json_out_null(out, json, "estimate");
		return;
	}
	json_out_u64(out, of, "interval", estimate->interval);
	json_out_u64(out, of, "ci95_bytes", estimate->ci95_bytes);
	json_out_u64(out, of, "ci95_blocks", estimate->ci95_blocks);
	json_out_u64(out, of, "samples", estimate->samples);
	json_out_u64(out, of, "ci95_peak_bytes", estimate->ci95_peak_bytes);
	json_out_u64(out, of, "ci95_allocated_bytes", estimate->ci95_allocated_bytes);
	json_out_u64(out, of, "ci95_allocs", estimate->ci95_allocs);
	if (of_process) {
		json_out_u64(out, of, "ci95_frees", estimate->ci95_frees);
		json_out_u64(out, of, "shown_interval", estimate->shown_interval);
	}
	json_out_add(out, json, "estimate", of);
}

static void add_number(struct json_out *out, struct json_object *array, uint64_t value)
{
	json_out_push(out, array, json_object_new_uint64(value));
}

/* [from, below, count]; above the last there is no bound. */
static struct json_object *lifetimes_json(struct json_out *out, const struct view_free *place)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < RECORD_LIFETIMES; i++) {
		struct json_object *bucket;

		if (place->lifetimes[i] == 0)
			continue;
		bucket = json_object_new_array();
		add_number(out, bucket, view_lifetime_from_ns(i));
		if (i + 1 < RECORD_LIFETIMES)
			add_number(out, bucket, view_lifetime_from_ns(i + 1));
		else
			json_out_push_null(out, bucket);
		add_number(out, bucket, place->lifetimes[i]);
		json_out_push(out, array, bucket);
	}
	return array;
}

static struct json_object *place_json(struct json_out *out, const struct view_free *place)
{
	uint64_t mean_ns = view_frees_mean_ns(place->total_ns, place->count, place->unknown);
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "blocks", place->count);
	json_out_u64(out, json, "bytes", place->bytes);
	json_out_u64(out, json, "other_thread", place->others);
	json_out_u64(out, json, "unknown", place->unknown);
	json_out_known(out, json, "mean_ns", mean_ns != UINT64_MAX, mean_ns);
	json_out_add(out, json, "lifetimes", lifetimes_json(out, place));
	json_add_stack(out, json, "stack_id", true, &place->stack);
	return json;
}

void json_add_frees(struct json_out *out, struct json_object *to, bool known,
		    const struct view_frees *frees)
{
	struct json_object *array = known ? json_object_new_array() : NULL;

	if (!known) {
		json_out_null(out, to, "frees");
		return;
	}
	for (size_t i = 0; i < frees->n; i++)
		json_out_push(out, array, place_json(out, &frees->list[i]));
	json_out_add(out, to, "frees", array);
}

const char *json_leak_class(enum reach_class class)
{
	return class < REACH_CLASSES ? reach_class_name(class) : NULL;
}

static struct json_object *point_json(struct json_out *out, const struct view_point *point,
				      bool has_heap)
{
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "time_ns", point->time_ns);
	json_out_known(out, json, "live_bytes", has_heap, (uint64_t)point->live_bytes);
	json_out_known(out, json, "live_blocks", has_heap, (uint64_t)point->live_blocks);
	json_out_known(out, json, "allocs", has_heap, point->allocs);
	json_out_known(out, json, "frees", has_heap, point->frees);
	json_out_known(out, json, "bytes", has_heap, point->bytes);
	json_out_known(out, json, "rss", point->rss_bytes != UINT64_MAX, point->rss_bytes);
	json_out_known(out, json, "pss", point->pss_bytes != UINT64_MAX, point->pss_bytes);
	json_out_known(out, json, "cgroup", point->cgroup_bytes != UINT64_MAX, point->cgroup_bytes);
	return json;
}

void json_timeline(struct json_out *out, const struct view *view,
		   const struct view_process *process)
{
	const struct view_timeline *timeline = &process->timeline;
	struct json_object *json, *points;

	if (!timeline->n) {
		fputs("null", out->file);
		return;
	}
	json = json_out_new(out);
	points = json_object_new_array();
	for (size_t i = 0; i < timeline->n; i++)
		json_out_push(out, points,
			      point_json(out, &timeline->points[i], timeline->has_heap));
	json_out_known(out, json, "peak_ns", timeline->peak_ns != UINT64_MAX, timeline->peak_ns);
	json_out_known(out, json, "peak_rss", timeline->peak_rss_bytes != UINT64_MAX,
		       timeline->peak_rss_bytes);
	json_out_bool(out, json, "peak_rss_exact", timeline->peak_rss_exact);
	json_out_known(out, json, "sites_left_out", timeline->has_heap,
		       series_left_out(model_series(view_model(view))));
	json_out_add(out, json, "points", points);
	json_out_put(out, json);
}

void json_add_series(struct json_out *out, struct json_object *to,
		     const struct view_process *process, const struct view_site *site)
{
	const struct view_series *series = &site->series;
	struct json_object *array;

	if (!series->live_bytes) {
		json_out_null(out, to, "series");
		return;
	}
	array = json_object_new_array();
	for (size_t i = 0; i < process->timeline.n; i++) {
		if (i >= series->first)
			json_out_push(out, array, json_object_new_int64(series->live_bytes[i]));
		else
			json_out_push_null(out, array);
	}
	json_out_add(out, to, "series", array);
}

void json_add_growth(struct json_out *out, struct json_object *to, bool known,
		     const struct growth *growth)
{
	struct json_object *json;

	if (!known) {
		json_out_null(out, to, "growth");
		return;
	}
	json = json_out_new(out);
	json_out_string(out, json, "verdict", growth_verdict_name(growth->verdict));
	json_out_add(out, json, "bytes_per_s", json_out_new_real(out, growth->bytes_per_s));
	json_out_add(out, json, "confidence", json_out_new_real(out, growth->confidence));
	json_out_add(out, to, "growth", json);
}

void json_growth(struct json_out *out, const struct view_process *process)
{
	struct json_object *json = json_out_new(out);

	fputc(',', out->file);
	json_add_growth(out, json, process->has_growth, &process->growth);
	json_out_put_members(out, json);
}
