/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_site.h"

#include "report/json/json_stacks.h"

#include <errno.h>

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
