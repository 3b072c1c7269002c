/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stable interface, DESIGN.md section 12: one object on one line. json-c makes the values; the
 * arrays of processes and sites are written as they come, or a large run would stand in memory
 * several times.
 */
#include "report/json_counts.h"
#include "report/json_errors.h"
#include "report/json_leaks.h"
#include "report/json_out.h"
#include "report/json_resident.h"
#include "report/json_series.h"
#include "report/json_syscalls.h"
#include "report/view_collect.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

static void put_site(struct json_out *out, const struct view_process *process,
		     const struct view_site *site)
{
	struct json_object *json = json_out_new(out);
	bool has_oldest = site->oldest_ns != VIEW_UNKNOWN;
	bool has_newest = site->newest_ns != VIEW_UNKNOWN;
	char id[24];

	if (!json)
		return;
	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	json_out_string(out, json, "id", id);
	json_out_string(out, json, "class", site->class == VIEW_MMAP ? "mmap" : "heap");
	json_out_u64(out, json, "live_bytes", site->live_bytes);
	json_out_u64(out, json, "live_blocks", site->live_blocks);
	json_out_u64(out, json, "allocs", site->allocs);
	json_out_u64(out, json, "bytes", site->bytes);
	json_out_u64(out, json, "peak_bytes", site->peak_bytes);
	json_out_known(out, json, "temporary", site->temporary != VIEW_UNKNOWN, site->temporary);
	json_out_known(out, json, "oldest_ns", has_oldest, site->oldest_ns);
	json_out_known(out, json, "newest_ns", has_newest, site->newest_ns);
	json_add_growth(out, json, site->has_growth, &site->growth);
	json_out_string(out, json, "leak", json_leak_class(site->leak));
	json_out_null(out, json, "estimate");
	json_add_series(out, json, process, site);
	json_out_add(out, json, "frames", json_out_frames(out, &site->stack));
	json_out_put(out, json);
}

static struct json_object *end_json(struct json_out *out, const struct model_process *image)
{
	struct json_object *json = json_out_new(out);
	bool exited = image->how == RECORD_END_EXIT, killed = image->how == RECORD_END_SIGNAL;

	if (!json)
		return NULL;
	json_out_known(out, json, "exit", exited, image->end_value);
	json_out_known(out, json, "signal", killed, image->end_value);
	json_out_bool(out, json, "oom", image->oom);
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
				      bool known)
{
	const struct {
		const char *key;
		uint64_t value;
	} members[] = {
		{ "allocs", totals->allocs },
		{ "frees", totals->frees },
		{ "failed", totals->failed },
		{ "bytes", totals->bytes },
		{ "live_bytes", totals->live_bytes },
		{ "live_blocks", totals->live_blocks },
		{ "peak_bytes", totals->peak_bytes },
		{ "temporary", totals->temporary },
		{ "missed_frees", totals->missed_frees },
		{ "unknown_frees", totals->unknown_frees },
	};
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		json_out_known(out, json, members[i].key, known, members[i].value);
	if (known && totals->has_before)
		json_out_add(out, json, "before_attach", before_json(out, totals));
	else
		json_out_null(out, json, "before_attach");
	json_out_null(out, json, "estimate");
	return json;
}

static void put_process(struct json_out *out, const struct view *view,
			const struct view_process *process)
{
	const struct model_process *image = process->image;
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	json_out_known(out, json, "pid", image->known, image->pid);
	json_out_string(out, json, "comm", image->comm);
	json_out_string(out, json, "exe", image->exe);
	if (image->ended)
		json_out_add(out, json, "end", end_json(out, image));
	else
		json_out_null(out, json, "end");
	json_out_add(out, json, "alloc",
		     alloc_json(out, &process->totals,
				view_has_allocations(view) && image->has_totals));
	fputc('{', out->file);
	json_out_put_members(out, json);
	fputs(",\"sites\":[", out->file);
	for (size_t i = 0; i < process->n_sites; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_site(out, process, &process->sites[i]);
	}
	fputs("],\"leaks\":", out->file);
	json_leaks(out, process);
	fputs(",\"heap_errors\":", out->file);
	json_errors(out, process);
	fprintf(out->file,
		",\"further_heap_errors\":%" PRIu64 ",\"rss\":", process->errors.further);
	json_resident(out, view, process);
	fputs(",\"timeline\":", out->file);
	json_timeline(out, view, process);
	json_growth(out, process);
	fputc('}', out->file);
}

/* Sums of processes that ended long ago, by what they ran. */
static void put_ended(struct json_out *out, const struct model *model)
{
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
		json_out_add(out, json, "alloc", alloc_json(out, &totals, true));
		if (i > 0)
			fputc(',', out->file);
		json_out_put(out, json);
	}
	fputc(']', out->file);
}

static struct json_object *losses_json(struct json_out *out, const struct record_loss *losses,
				       size_t n)
{
	struct json_object *json = json_out_new(out);

	for (size_t i = 0; json && i < n; i++)
		json_out_u64(out, json, losses[i].cause, losses[i].count);
	return json;
}

static struct json_object *unprobed_json(struct json_out *out, const struct model *model)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < model_n_unprobed(model); i++) {
		const struct record_unprobed *unprobed = model_unprobed(model, i);
		struct json_object *json = json_out_new(out);

		if (!json || json_object_array_add(array, json) < 0) {
			json_object_put(json);
			out->error = -ENOMEM;
			break;
		}
		json_out_string(out, json, "function", unprobed->function);
		json_out_string(out, json, "object", unprobed->object);
		json_out_string(out, json, "why", unprobed->why);
	}
	return array;
}

static struct json_object *lines_json(struct json_out *out, const char *lines)
{
	struct json_object *array = json_object_new_array();

	for (const char *at = lines ? lines : ""; array && *at;) {
		size_t len = strcspn(at, "\n");
		_cleanup_free_ char *line = strndup(at, len);
		struct json_object *json = line ? json_out_new_string(out, line) : NULL;

		if (!json || json_object_array_add(array, json) < 0) {
			json_object_put(json);
			out->error = -ENOMEM;
			break;
		}
		at += len + (at[len] != '\0');
	}
	return array;
}

/* A stack of which the reference has other frames. */
static struct json_object *difference_json(struct json_out *out, const struct view *view,
					   const struct record_stack_differs *differs)
{
	const struct model_process *image = model_find_process(view_model(view), differs->slot);
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_known(out, json, "pid", image && image->known, image ? image->pid : 0);
	json_out_bool(out, json, "whole", differs->whole);
	json_out_add(out, json, "stack", lines_json(out, differs->ours));
	json_out_add(out, json, "reference", lines_json(out, differs->reference));
	return json;
}

/* --check-stacks */
static struct json_object *stack_check_json(struct json_out *out, const struct view *view,
					    const struct record_stack_check *check)
{
	const struct model *model = view_model(view);
	struct json_object *json = json_out_new(out), *results = json_out_new(out);
	struct json_object *differing = json_object_new_array();

	for (size_t i = 0; results && i < check->n_results; i++)
		json_out_u64(out, results, check->results[i].cause, check->results[i].count);
	for (size_t i = 0; differing && i < model_n_stacks_differ(model); i++) {
		struct json_object *one = difference_json(out, view, model_stack_differs(model, i));

		if (!one || json_object_array_add(differing, one) < 0) {
			json_object_put(one);
			out->error = -ENOMEM;
			break;
		}
	}
	json_out_add(out, json, "results", results);
	json_out_add(out, json, "differing", differing);
	return json;
}

static void put_coverage(struct json_out *out, const struct view *view)
{
	static const struct record_coverage nothing;
	const struct record_coverage *known = model_coverage(view_model(view));
	const struct record_coverage *coverage = known ? known : &nothing;
	const struct record_run *run = model_run(view_model(view));
	bool lacks = run && run->kernel_lacks && *run->kernel_lacks;
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	json_out_bool(out, json, "exact", view_is_exact(view));
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
	if (model_stack_check(view_model(view)))
		json_out_add(out, json, "stack_check",
			     stack_check_json(out, view, model_stack_check(view_model(view))));
	else
		json_out_null(out, json, "stack_check");
	json_out_string(out, json, "kernel_lacks", lacks ? run->kernel_lacks : NULL);
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

static void put_head(struct json_out *out, const struct view *view)
{
	const struct record_run *run = model_run(view_model(view));
	struct json_object *json = json_out_new(out);
	uint64_t now_ns = view_now_ns(view);

	if (!json)
		return;
	json_out_u64(out, json, "version", 1);
	json_out_string(out, json, "tool", run ? run->tool : NULL);
	if (run)
		add_start(out, json, run->start_realtime_ns);
	else
		json_out_null(out, json, "start");
	json_out_known(out, json, "elapsed_ns", run && now_ns >= run->start_ns,
		       run ? now_ns - run->start_ns : 0);
	json_out_put_members(out, json);
}

int json_write(const struct view *view, FILE *file)
{
	struct json_out out = { .file = file };

	fputc('{', file);
	put_head(&out, view);
	fputs(",\"processes\":[", file);
	for (size_t i = 0; out.error == 0 && i < view_n_processes(view); i++) {
		if (i > 0)
			fputc(',', file);
		put_process(&out, view, view_process(view, i));
	}
	fputs("],\"ended\":", file);
	put_ended(&out, view_model(view));
	fputs(",\"histograms\":", file);
	json_histograms(&out, view);
	fputs(",\"events\":", file);
	json_events(&out, view);
	fputs(",\"syscalls\":", file);
	json_syscalls(&out, view);
	fputs(",\"coverage\":", file);
	put_coverage(&out, view);
	fputs("}\n", file);
	if (out.error < 0)
		return out.error;
	return ferror(file) ? -EIO : 0;
}
