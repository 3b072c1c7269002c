/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json_resident.h"

void json_resident(struct json_out *out, const struct view *view,
		   const struct view_process *process)
{
	const struct record_resident *v = &process->image->resident;
	const struct record_run *run = model_run(view_model(view));
	bool timed = run && v->time_ns >= run->start_ns;
	struct json_object *json;

	if (!process->image->has_resident) {
		fputs("null", out->file);
		return;
	}
	json = json_out_new(out);
	if (!json)
		return;
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
	json_out_put(out, json);
}
