/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_parts.h"

#include "analyze/reach.h"
#include "report/json/json_stacks.h"
#include "report/leak/leak_result.h"
#include "report/text/error_words.h"
#include "report/text/program_words.h"
#include "report/view/view_collect.h"

#include <inttypes.h>
#include <json-c/json_object.h>

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

	json_out_u64(out, json, "usable_bytes", totals->before_bytes);
	json_out_u64(out, json, "live_blocks", totals->before_blocks);
	json_out_u64(out, json, "unread_bytes", totals->before_unread);
	return json;
}

/* As coverage.library. */
static bool is_asked_how(const struct view *view)
{
	const struct record_run *run = model_run(view_model(view));

	return run && run->counted_by;
}

static struct json_object *alloc_json(struct json_out *out, const struct view *view,
				      const struct record_totals *totals, bool known,
				      bool is_sampled)
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

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		json_out_known(out, json, members[i].key,
			       known && (members[i].of_samples || !is_sampled), members[i].value);
	json_out_add_or_null(out, json, "before_attach",
			     known && totals->has_before ? before_json(out, totals) : NULL);
	json_out_known(out, json, "lifetime_resolution_ns", totals->lifetime_resolution_ns > 0,
		       totals->lifetime_resolution_ns);
	if (is_asked_how(view))
		json_out_bool(out, json, "by_library", totals->by_library);
	estimate = view_estimate_totals(totals);
	json_add_estimate(out, json, &estimate, true);
	return json;
}

static struct json_object *mmap_json(struct json_out *out, const struct view_process *process)
{
	const struct region_totals *totals = &process->mmap;
	const struct model_process *image = process->image;
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "live_bytes", (uint64_t)totals->live_bytes);
	json_out_u64(out, json, "live_blocks", (uint64_t)totals->live_blocks);
	json_out_u64(out, json, "peak_bytes", (uint64_t)totals->peak_bytes);
	json_out_u64(out, json, "allocs", totals->allocs);
	json_out_u64(out, json, "bytes", totals->bytes);
	json_out_u64(out, json, "left_out", totals->left_out);
	json_out_known(out, json, "inaccessible", image->has_mapped, image->resident.inaccessible);
	return json;
}

/* Which kinds its processes are of, as a set. */
static uint32_t kinds_of(const struct view *view)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < view_n_processes(view); i++)
		kinds |= view_process(view, i)->image->kinds;
	return kinds;
}

void json_add_notes(struct json_out *out, struct json_object *json, const struct view *view,
		    const struct model_process *image)
{
	struct json_object *array = NULL, *note;
	uint32_t kinds = image ? image->kinds : kinds_of(view);

	for (enum program_kind kind = PROGRAM_PLAIN + 1; kind < PROGRAM_KINDS; kind++) {
		_cleanup_strbuf_ struct strbuf words = { 0 };

		if (kinds & UINT32_C(1) << kind)
			program_words_of_run(kind, image, view, &words);
		if (words.len == 0)
			continue;
		if (!array)
			array = json_object_new_array();
		note = json_out_push_new(out, array);
		json_out_string(out, note, "program", program_kind_facts(kind)->name);
		json_out_string(out, note, "text", strbuf_str(&words));
	}
	if (array)
		json_out_add(out, json, "notes", array);
}

void json_process_head(struct json_out *out, const struct view *view,
		       const struct view_process *process)
{
	const struct model_process *image = process->image;
	struct json_object *json = json_out_new(out);

	json_out_known(out, json, "pid", image->known, image->pid);
	json_out_string(out, json, "comm", image->comm);
	json_out_string(out, json, "exe", image->exe);
	/* Of a run with --max-overhead. */
	if (depths_overhead(model_depths(view_model(view))))
		json_out_string(out, json, "depth", json_depth_name(image->depth));
	json_add_notes(out, json, view, image);
	json_out_add_or_null(out, json, "end", image->ended ? end_json(out, image) : NULL);
	json_out_add(out, json, "alloc",
		     alloc_json(out, view, &process->totals,
				view_has_allocations(view) && image->has_totals,
				view_image_is_sampled(view_model(view), image)));
	json_out_add_or_null(out, json, "mmap", process->has_mmap ? mmap_json(out, process) : NULL);
	json_out_put_members(out, json);
}

/* NULL: of no cgroup. */
static struct json_object *use_json(struct json_out *out, const char *path,
				    const struct record_memory_use *use)
{
	struct json_object *json = path ? json_out_new(out) : NULL;

	if (!json)
		return NULL;
	json_out_string(out, json, "path", path);
	json_out_u64(out, json, "used", use->used);
	json_out_u64(out, json, "most", use->most);
	json_out_known(out, json, "limit", use->limit != UINT64_MAX, use->limit);
	return json;
}

static struct json_object *sender_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "pid", death->sender);
	json_out_u64(out, json, "uid", death->sender_uid);
	json_out_string(out, json, "comm", death->sender_comm);
	return json;
}

static struct json_object *oom_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = json_out_new(out);

	json_out_string(out, json, "constraint", death->oom_constraint);
	json_out_add_or_null(out, json, "cgroup",
			     use_json(out, death->oom_cgroup, &death->oom_use));
	return json;
}

static struct json_object *memory_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "total_vm", death->total_vm);
	json_out_u64(out, json, "anon_rss", death->anon);
	json_out_u64(out, json, "file_rss", death->file);
	json_out_u64(out, json, "shmem_rss", death->shared);
	json_out_u64(out, json, "swapped", death->swapped);
	json_out_u64(out, json, "page_tables", death->page_tables);
	return json;
}

static struct json_object *cgroup_json(struct json_out *out, const struct record_death *death)
{
	struct json_object *json = use_json(out, death->cgroup, &death->use);

	json_out_known(out, json, "limit_hits", death->has_events, death->limit_hits);
	json_out_known(out, json, "ooms", death->has_events, death->ooms);
	json_out_known(out, json, "oom_kills", death->has_events, death->oom_kills);
	return json;
}

/* As all findings of a process: NULL where there is none. */
static struct json_object *death_json(struct json_out *out, const struct view_process *process)
{
	static const char *const killers[] = {
		[RECORD_KILLER_KERNEL] = "kernel",
		[RECORD_KILLER_PROCESS] = "process",
	};
	const struct record_death *death = &process->image->death;
	struct json_object *json = process->image->has_death ? json_out_new(out) : NULL;

	if (!json)
		return NULL;
	json_out_u64(out, json, "signal", (uint64_t)death->signal);
	json_out_add(out, json, "code", json_object_new_int(death->code));
	json_out_string(out, json, "by",
			death->killer <= RECORD_KILLER_PROCESS ? killers[death->killer] : NULL);
	json_out_add_or_null(out, json, "sender",
			     death->killer == RECORD_KILLER_PROCESS ? sender_json(out, death) :
								      NULL);
	json_out_add_or_null(out, json, "oom", death->oom ? oom_json(out, death) : NULL);
	json_out_add(out, json, "oom_score_adj", json_object_new_int(death->oom_score_adj));
	json_out_add_or_null(out, json, "memory",
			     death->has_memory ? memory_json(out, death) : NULL);
	json_out_add_or_null(out, json, "cgroup", death->cgroup ? cgroup_json(out, death) : NULL);
	json_out_add_or_null(out, json, "full_cgroup",
			     use_json(out, death->full_cgroup, &death->full_use));
	return json;
}

static struct json_object *fault_block_json(struct json_out *out, const struct view_fault *fault)
{
	static const char *const sides[] = { "before", "inside", "after" };
	const struct record_fault *v = fault->values;
	struct json_object *json = json_out_new(out);
	uint64_t bytes;
	int side = fault_side(v, &bytes);

	json_out_address(out, json, "addr", true, v->block);
	json_out_u64(out, json, "size", v->block_size);
	json_out_bool(out, json, "freed", v->freed);
	json_out_string(out, json, "side", sides[side + 1]);
	json_out_u64(out, json, "bytes", bytes);
	return json;
}

static struct json_object *fault_json(struct json_out *out, const struct view_process *process)
{
	const struct view_fault *fault = &process->fault;
	const struct record_fault *v = fault->values;
	struct json_object *json = v ? json_out_new(out) : NULL;

	if (!json)
		return NULL;
	json_out_u64(out, json, "signal", (uint64_t)v->signal);
	json_out_string(out, json, "name", fault_signal_name(v->signal));
	json_out_add(out, json, "code", json_object_new_int(v->code));
	json_out_u64(out, json, "tid", v->tid);
	json_out_address(out, json, "addr", v->has_addr, v->addr);
	json_out_add_or_null(out, json, "block", v->block ? fault_block_json(out, fault) : NULL);
	json_out_bool(out, json, "blocks_searched", v->has_addr && !v->unsearched);
	json_add_stack(out, json, "stack_id", true, &fault->stack);
	json_add_stack(out, json, "allocated_stack_id", fault->has_allocated, &fault->allocated);
	json_add_stack(out, json, "freed_stack_id", fault->has_freed, &fault->freed);
	return json;
}

static struct json_object *error_block_json(struct json_out *out, const struct record_heap_error *v)
{
	struct json_object *json = json_out_new(out);

	json_out_address(out, json, "addr", v->block != 0, v->block);
	json_out_u64(out, json, "size", v->block_size);
	json_out_u64(out, json, "offset", v->addr - v->block);
	return json;
}

static struct json_object *error_json(struct json_out *out, const struct view_process *process,
				      const struct view_heap_error *error)
{
	const struct record_heap_error *v = error->values;
	struct json_object *json = json_out_new(out);
	bool asked = v->kind == RECORD_FAILED_ALLOCATION || v->kind == RECORD_SUSPICIOUS_SIZE;

	json_out_string(out, json, "kind", view_error_name(v->kind));
	json_out_bool(out, json, "certain", view_errors_certain(process));
	json_out_u64(out, json, "count", error->count);
	json_out_address(out, json, "addr", v->addr != 0, v->addr);
	json_out_known(out, json, "size", asked, v->size);
	json_out_add_or_null(out, json, "block",
			     error->has_block ? error_block_json(out, v) : NULL);
	json_add_stack(out, json, "stack_id", true, &error->stack);
	json_add_stack(out, json, "allocated_stack_id", error->has_allocated, &error->allocated);
	json_add_stack(out, json, "freed_stack_id", error->has_freed, &error->freed);
	return json;
}

static struct json_object *errors_json(struct json_out *out, const struct view_process *process)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < process->errors.n; i++)
		json_out_push(out, array, error_json(out, process, &process->errors.errors[i]));
	return array;
}

static struct json_object *sum_json(struct json_out *out, const struct loss_sum *sum)
{
	struct json_object *json = json_out_new(out);

	json_out_u64(out, json, "bytes", sum->bytes);
	json_out_u64(out, json, "blocks", sum->blocks);
	return json;
}

static struct json_object *leaks_json(struct json_out *out, const struct view_process *process)
{
	const struct leak_result *leaks = process->leaks;
	const struct loss_totals *totals = leaks ? loss_records_totals(leaks->records) : NULL;
	struct json_object *json = leaks ? json_out_new(out) : NULL;

	if (!json)
		return NULL;
	for (int class = 0; class < REACH_CLASSES; class ++)
		json_out_add(out, json, reach_class_name((enum reach_class) class),
			     sum_json(out, &totals->classes[class]));
	json_out_add(out, json, "suppressed", sum_json(out, &totals->suppressed));
	json_out_u64(out, json, "errors", totals->errors);
	json_out_u64(out, json, "checks", leaks->number);
	json_out_bool(out, json, "complete",
		      leaks->seen.stats.end == REACH_COMPLETE && leaks->seen.running_threads == 0);
	json_out_bool(out, json, "all_blocks_known", !leaks->seen.unknown_blocks);
	json_out_u64(out, json, "stopped_ns", leaks->seen.stopped_ns);
	return json;
}

static struct json_object *resident_json(struct json_out *out, const struct view *view,
					 const struct view_process *process)
{
	const struct record_resident *v = &process->image->resident;
	const struct record_run *run = model_run(view_model(view));
	bool timed = run && v->time_ns >= run->start_ns;
	struct json_object *json = process->image->has_resident ? json_out_new(out) : NULL;

	if (!json)
		return NULL;
	json_out_known(out, json, "at_ns", timed, timed ? v->time_ns - run->start_ns : 0);
	json_out_bool(out, json, "exact", view_resident_exact(process));
	json_out_u64(out, json, "rss", v->rss);
	json_out_u64(out, json, "pss", v->pss);
	json_out_u64(out, json, "heap_live", v->heap_live);
	json_out_known(out, json, "heap_free", v->all_blocks, v->heap_free);
	json_out_u64(out, json, "mmap", v->mmap);
	json_out_u64(out, json, "file", v->file);
	json_out_u64(out, json, "stack", v->stack);
	json_out_u64(out, json, "unknown", v->unknown);
	json_out_u64(out, json, "unknown_heap", v->unknown_heap);
	json_out_u64(out, json, "moved", v->moved);
	json_out_u64(out, json, "swap", v->swap);
	json_out_u64(out, json, "page_tables", v->page_tables);
	json_out_u64(out, json, "mapped", v->mapped);
	json_out_u64(out, json, "inaccessible", v->inaccessible);
	return json;
}

void json_process_findings(struct json_out *out, const struct view *view,
			   const struct view_process *process)
{
	struct json_object *json = json_out_new(out);

	json_out_add_or_null(out, json, "leaks", leaks_json(out, process));
	json_out_add_or_null(out, json, "death", death_json(out, process));
	json_out_add_or_null(out, json, "fault", fault_json(out, process));
	json_out_add(out, json, "heap_errors", errors_json(out, process));
	json_out_u64(out, json, "further_heap_errors", process->errors.further);
	json_out_add_or_null(out, json, "rss", resident_json(out, view, process));
	json_out_put_members(out, json);
}

/* Sums of processes that ended long ago, by what they ran. */
void json_ended(struct json_out *out, const struct view *view)
{
	fputc('[', out->file);
	for (size_t i = 0; i < view_n_ended(view); i++) {
		const struct model_ended *ended = view_ended(view, i);
		struct record_totals totals = ended->totals;
		struct json_object *json = json_out_new(out);
		bool exact;

		json_out_string(out, json, "comm", ended->comm);
		json_out_string(out, json, "exe", ended->exe);
		json_out_u64(out, json, "processes", ended->processes);
		view_clamp(&totals.live_bytes, &exact);
		view_clamp(&totals.live_blocks, &exact);
		json_out_u64(out, json, "lost", totals.lost);
		json_out_add(out, json, "alloc",
			     alloc_json(out, view, &totals, true,
					view_is_sampled(view_model(view))));
		if (i > 0)
			fputc(',', out->file);
		json_out_put(out, json);
	}
	fputc(']', out->file);
}
