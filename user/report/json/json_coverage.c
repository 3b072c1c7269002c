/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_parts.h"

#include "model/series.h"
#include "report/text/cost_words.h"
#include "report/text/next_words.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static struct json_object *losses_json(struct json_out *out, const struct record_loss *losses,
				       size_t n)
{
	struct json_object *json = json_out_new(out);

	for (size_t i = 0; i < n; i++)
		json_out_u64(out, json, losses[i].cause, losses[i].count);
	return json;
}

static struct json_object *unprobed_json(struct json_out *out, const struct model *model)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < model_coverage(model)->unprobed.len; i++) {
		const struct record_unprobed *unprobed = &model_coverage(model)->unprobed.data[i];
		struct json_object *json = json_out_push_new(out, array);

		json_out_string(out, json, "function", unprobed->function);
		json_out_string(out, json, "object", unprobed->object);
		json_out_string(out, json, "why", unprobed->why);
	}
	return array;
}

static struct json_object *sites_json(struct json_out *out, const struct model *model)
{
	struct json_object *array = json_object_new_array();

	vec_foreach(&model_coverage(model)->sites_differ, differ) {
		struct json_object *json = json_out_push_new(out, array);

		json_out_string(out, json, "function", differ->function);
		json_out_string(out, json, "object", differ->object);
		json_out_u64(out, json, "calls", differ->calls);
		json_out_u64(out, json, "different", differ->different);
	}
	return array;
}

static struct json_object *lines_json(struct json_out *out, const char *lines)
{
	struct json_object *array = json_object_new_array();

	for (const char *at = lines ? lines : ""; array && *at;) {
		size_t len = strcspn(at, "\n");
		_cleanup_free_ char *line = strndup(at, len);

		json_out_push(out, array, line ? json_out_new_string(out, line) : NULL);
		at += len + (at[len] != '\0');
	}
	return array;
}

/* A stack of which the reference has other frames. */
static struct json_object *difference_json(struct json_out *out, const struct view *view,
					   const struct record_stack_differs *differs)
{
	const struct model_process *image = model_find_process(view_model(view), differs->image);
	struct json_object *json = json_out_new(out);

	json_out_known(out, json, "pid", image && image->known, image ? image->pid : 0);
	json_out_bool(out, json, "whole", differs->whole);
	json_out_add(out, json, "stack", lines_json(out, differs->ours));
	json_out_add(out, json, "reference", lines_json(out, differs->reference));
	return json;
}

/* --check-stacks */
static struct json_object *stack_check_json(struct json_out *out, const struct view *view)
{
	const struct model *model = view_model(view);
	const struct record_stack_check *check = model_coverage(model)->of_stacks;
	struct json_object *json, *results, *differing;

	if (!check)
		return NULL;
	json = json_out_new(out);
	results = json_out_new(out);
	differing = json_object_new_array();
	for (size_t i = 0; i < check->n_results; i++)
		json_out_u64(out, results, check->results[i].cause, check->results[i].count);
	for (size_t i = 0; i < model_coverage(model)->stacks_differ.len; i++)
		json_out_push(out, differing,
			      difference_json(out, view,
					      &model_coverage(model)->stacks_differ.data[i]));
	json_out_add(out, json, "results", results);
	json_out_add(out, json, "differing", differing);
	return json;
}

static struct json_object *budget_json(struct json_out *out, const struct report_budget *budget)
{
	struct json_object *json = json_out_new(out);

	json_out_known(out, json, "max_ppm", budget->max_ppm > 0, budget->max_ppm);
	json_out_u64(out, json, "used_ppm", budget->used_ppm);
	json_out_u64(out, json, "predicted_ppm", budget->predicted_ppm);
	json_out_u64(out, json, "untraced_ns", budget->untraced_ns);
	if (budget->pre_empted)
		json_out_bool(out, json, "pre_empted", true);
	return json;
}

static struct json_object *overhead_json(struct json_out *out, const struct view *view)
{
	const struct record_overhead *overhead = depths_overhead(model_depths(view_model(view)));
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "max_ppm", overhead->max_ppm);
	json_out_u64(out, json, "predicted_ppm", overhead->predicted_ppm);
	json_out_known(out, json, "measured_ppm", overhead->measured_ppm != UINT64_MAX,
		       overhead->measured_ppm);
	json_out_u64(out, json, "cpu_ns", overhead->cpu_ns);
	json_out_u64(out, json, "call_ns", overhead->call_ns);
	json_out_u64(out, json, "sample_ns", overhead->sample_ns);
	return json;
}

static struct json_object *cost_json(struct json_out *out, const struct record_cost *cost)
{
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "calls", cost->calls);
	json_out_u64(out, json, "span_ns", cost->span_ns);
	json_out_u64(out, json, "counted_ns", cost_counted_ns(cost));
	json_out_known(out, json, "predicted_ns", cost->predicted_ns != UINT64_MAX,
		       cost->predicted_ns);
	json_out_known(out, json, "measured_ns", cost->measured_ns != UINT64_MAX,
		       cost->measured_ns);
	json_out_known(out, json, "own_cpu_ns", cost->own_cpu_ns != UINT64_MAX, cost->own_cpu_ns);
	json_out_known(out, json, "limit_ppm", cost->limit_ppm, cost->limit_ppm);
	return json;
}

/* Changes, in their order; before the first it is "exact". */
static struct json_object *depths_json(struct json_out *out, const struct model *model)
{
	const struct record_run *run = model_run(model);
	uint64_t start_ns = run ? run->start_ns : 0;
	struct json_object *json = json_object_new_array();

	for (size_t i = 0; i < model_depths(model)->changes.len; i++) {
		const struct record_depth_change *change = &model_depths(model)->changes.data[i];
		bool known = change->predicted_ppm != UINT64_MAX;
		struct json_object *one = json_out_push_new(out, json);

		json_out_u64(out, one, "at_ns",
			     change->time_ns > start_ns ? change->time_ns - start_ns : 0);
		json_out_string(out, one, "depth", json_depth_name(change->depth));
		json_out_known(out, one, "calls_per_s", known, change->calls_per_s);
		json_out_known(out, one, "exact_ppm", known, change->predicted_ppm);
		json_out_u64(out, one, "interval_factor", UINT64_C(1) << (change->doublings & 63));
	}
	return json;
}

static struct json_object *library_json(struct json_out *out, const char *counted_by)
{
	bool used = strcmp(counted_by, RECORD_BY_LIBRARY) == 0;
	struct json_object *json = json_out_new(out);

	json_out_bool(out, json, "used", used);
	json_out_string(out, json, "why_not", used ? NULL : counted_by);
	return json;
}

void json_coverage(struct json_out *out, const struct view *view)
{
	static const struct record_coverage nothing;
	const struct record_coverage *known = view_coverage(view);
	const struct record_coverage *coverage = known ? known : &nothing;
	const struct record_run *run = model_run(view_model(view));
	bool lacks = run && run->kernel_lacks && *run->kernel_lacks;
	uint64_t left_out = series_processes_left_out(model_series(view_model(view)));
	const char *next = next_words(view_model(view));
	struct json_object *json = json_out_new(out);

	json_out_bool(out, json, "exact", view_is_exact(view));
	json_out_bool(out, json, "sampled", run && run->sampled);
	json_out_known(out, json, "events", known, coverage->events);
	json_out_add(out, json, "lost", losses_json(out, coverage->losses, coverage->n_losses));
	json_out_string(out, json, "unwinder", run ? run->unwinder : NULL);
	json_out_known(out, json, "stacks_complete", known, coverage->stacks_complete);
	json_out_known(out, json, "stacks_guided", known, coverage->stacks_guided);
	json_out_known(out, json, "stacks_truncated", known, coverage->stacks_truncated);
	json_out_add(out, json, "cut", losses_json(out, coverage->cuts, coverage->n_cuts));
	if (coverage->stacks_complete || coverage->stacks_truncated)
		json_out_bool(out, json, "all_stacks_complete", !coverage->stacks_truncated);
	else
		json_out_null(out, json, "all_stacks_complete");
	json_out_add_or_null(out, json, "stack_check", stack_check_json(out, view));
	json_out_string(out, json, "kernel_lacks", lacks ? run->kernel_lacks : NULL);
	/* Of a run whose processes could count their calls themselves, or would else. */
	if (run && run->counted_by)
		json_out_add(out, json, "library", library_json(out, run->counted_by));
	/* Only a service's reports have it. */
	if (view_opts(view)->budget)
		json_out_add(out, json, "budget", budget_json(out, view_opts(view)->budget));
	/* Of a run that counts calls without --max-overhead. */
	if (depths_cost(model_depths(view_model(view))))
		json_out_add(out, json, "cost",
			     cost_json(out, depths_cost(model_depths(view_model(view)))));
	/* Of a run with --max-overhead. */
	if (depths_overhead(model_depths(view_model(view)))) {
		json_out_add(out, json, "overhead", overhead_json(out, view));
		json_out_add(out, json, "depths", depths_json(out, view_model(view)));
	}
	/* Only where there are any. */
	if (left_out)
		json_out_u64(out, json, "timelines_left_out", left_out);
	if (next)
		json_out_string(out, json, "hint", next);
	if (model_coverage(view_model(view))->sites_differ.len)
		json_out_add(out, json, "sites_differ", sites_json(out, view_model(view)));
	json_out_add(out, json, "unprobed", unprobed_json(out, view_model(view)));
	json_out_put(out, json);
}

static void add_start(struct json_out *out, struct json_object *to, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char date[40], text[64];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(date, sizeof(date), "%FT%T", &tm) == 0) {
		json_out_null(out, to, "start");
		return;
	}
	snprintf(text, sizeof(text), "%s.%09" PRIu64 "Z", date, realtime_ns % 1000000000);
	json_out_string(out, to, "start", text);
}

void json_run(struct json_out *out, const struct view *view)
{
	const struct record_run *run = model_run(view_model(view));
	struct json_object *json = json_out_new(out);
	uint64_t now_ns = view_now_ns(view);

	json_out_string(out, json, "tool", run ? run->tool : NULL);
	if (run)
		add_start(out, json, run->start_realtime_ns);
	else
		json_out_null(out, json, "start");
	json_out_known(out, json, "elapsed_ns", run && now_ns >= run->start_ns,
		       run ? now_ns - run->start_ns : 0);
	json_out_u64(out, json, "slept_ns", model_slept_ns(view_model(view)));
	json_out_put_members(out, json);
}

void json_head(struct json_out *out, const struct view *view)
{
	fputs("\"version\":2,", out->file);
	json_run(out, view);
}
