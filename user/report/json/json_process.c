/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_process.h"

#include "report/json/json_death.h"
#include "report/json/json_errors.h"
#include "report/json/json_estimate.h"
#include "report/json/json_fault.h"
#include "report/json/json_leaks.h"
#include "report/json/json_resident.h"
#include "report/view/view_collect.h"

#include <inttypes.h>

const char *json_depth_name(enum record_depth depth)
{
	static const char *const names[] = {
		[RECORD_DEPTH_EXACT] = "exact",
		[RECORD_DEPTH_SAMPLED] = "sampled",
		[RECORD_DEPTH_GROWTH] = "growth",
	};

	return names[depth];
}

static struct json_object *end_json(struct json_out *out, const struct model_process *image)
{
	struct json_object *json = json_out_new(out);
	bool exited = image->how == RECORD_END_EXIT, killed = image->how == RECORD_END_SIGNAL;

	if (!json)
		return NULL;
	json_out_known(out, json, "exit", exited, image->end_value);
	json_out_known(out, json, "signal", killed, image->end_value);
	if (image->oom_unknown)
		json_out_null(out, json, "oom");
	else
		json_out_bool(out, json, "oom", image->oom);
	if (image->how == RECORD_END_DEPTH)
		json_out_bool(out, json, "depth_changed", true);
	if (image->how == RECORD_END_HIDDEN)
		json_out_bool(out, json, "hidden", true);
	return json;
}

/* Sizes are malloc_usable_size()'s: what the program asked for then is not known. */
static struct json_object *before_json(struct json_out *out, const struct record_totals *totals)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_u64(out, json, "usable_bytes", totals->before_bytes);
	json_out_u64(out, json, "live_blocks", totals->before_blocks);
	json_out_u64(out, json, "unread_bytes", totals->before_unread);
	return json;
}

static struct json_object *alloc_json(struct json_out *out, const struct record_totals *totals,
				      bool known, bool is_sampled)
{
	const struct {
		const char *key;
		uint64_t value;
		bool of_samples; /* they tell it */
	} members[] = {
		{ "allocs", totals->allocs, true },
		{ "frees", totals->frees, true },
		{ "failed", totals->failed, false },
		{ "bytes", totals->bytes, true },
		{ "live_bytes", totals->live_bytes, true },
		{ "live_blocks", totals->live_blocks, true },
		{ "peak_bytes", totals->peak_bytes, true },
		{ "temporary", totals->temporary, false },
		{ "missed_frees", totals->missed_frees, true },
		{ "unknown_frees", totals->unknown_frees, true },
	};
	struct json_object *json = json_out_new(out);
	struct view_estimate estimate;

	if (!json)
		return NULL;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		json_out_known(out, json, members[i].key,
			       known && (members[i].of_samples || !is_sampled), members[i].value);
	if (known && totals->has_before)
		json_out_add(out, json, "before_attach", before_json(out, totals));
	else
		json_out_null(out, json, "before_attach");
	estimate = view_estimate_totals(totals);
	json_add_estimate(out, json, &estimate, true);
	return json;
}

static struct json_object *mmap_json(struct json_out *out, const struct region_totals *totals)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_u64(out, json, "live_bytes", (uint64_t)totals->live_bytes);
	json_out_u64(out, json, "live_blocks", (uint64_t)totals->live_blocks);
	json_out_u64(out, json, "peak_bytes", (uint64_t)totals->peak_bytes);
	json_out_u64(out, json, "allocs", totals->allocs);
	json_out_u64(out, json, "bytes", totals->bytes);
	json_out_u64(out, json, "left_out", totals->left_out);
	return json;
}

void json_process_head(struct json_out *out, const struct view *view,
		       const struct view_process *process)
{
	const struct model_process *image = process->image;
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	json_out_known(out, json, "pid", image->known, image->pid);
	json_out_string(out, json, "comm", image->comm);
	json_out_string(out, json, "exe", image->exe);
	/* Of a run with --max-overhead. */
	if (model_overhead(view_model(view)))
		json_out_string(out, json, "depth", json_depth_name(image->depth));
	if (image->ended)
		json_out_add(out, json, "end", end_json(out, image));
	else
		json_out_null(out, json, "end");
	json_out_add(out, json, "alloc",
		     alloc_json(out, &process->totals,
				view_has_allocations(view) && image->has_totals,
				view_image_is_sampled(view_model(view), image)));
	if (process->has_mmap)
		json_out_add(out, json, "mmap", mmap_json(out, &process->mmap));
	else
		json_out_null(out, json, "mmap");
	json_out_put_members(out, json);
}

void json_process_findings(struct json_out *out, const struct view *view,
			   const struct view_process *process)
{
	fputs("\"leaks\":", out->file);
	json_leaks(out, process);
	fputs(",\"death\":", out->file);
	json_death(out, process);
	fputs(",\"fault\":", out->file);
	json_fault(out, process);
	fputs(",\"heap_errors\":", out->file);
	json_errors(out, process);
	fprintf(out->file,
		",\"further_heap_errors\":%" PRIu64 ",\"rss\":", process->errors.further);
	json_resident(out, view, process);
}

/* Sums of processes that ended long ago, by what they ran. */
void json_ended(struct json_out *out, const struct view *view)
{
	const struct model *model = view_model(view);

	fputc('[', out->file);
	for (size_t i = 0; i < model_n_ended(model); i++) {
		const struct model_ended *ended = model_ended(model, i);
		struct record_totals totals = ended->totals;
		struct json_object *json = json_out_new(out);
		bool exact;

		if (!json)
			return;
		json_out_string(out, json, "comm", ended->comm);
		json_out_string(out, json, "exe", ended->exe);
		json_out_u64(out, json, "processes", ended->processes);
		view_clamp(&totals.live_bytes, &exact);
		view_clamp(&totals.live_blocks, &exact);
		json_out_u64(out, json, "lost", totals.lost);
		json_out_add(out, json, "alloc",
			     alloc_json(out, &totals, true, view_is_sampled(model)));
		if (i > 0)
			fputc(',', out->file);
		json_out_put(out, json);
	}
	fputc(']', out->file);
}
