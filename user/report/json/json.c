/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stable interface, DESIGN.md section 12: one object on one line. json-c makes the values; the
 * arrays of processes and sites are written as they come, or a large run would stand in memory
 * several times.
 */
#include "base/cleanup.h"
#include "report/json/json_out.h"
#include "report/json/json_parts.h"
#include "report/json/json_stacks.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>

static void put_site(struct json_out *out, const struct view_process *process,
		     const struct view_site *site, bool has_frees)
{
	struct json_object *json = json_out_new(out);
	bool has_oldest = site->oldest_ns != VIEW_UNKNOWN;
	bool has_newest = site->newest_ns != VIEW_UNKNOWN;
	char id[24];

	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	json_out_string(out, json, "id", id);
	json_out_string(out, json, "class", site->class == VIEW_MMAP ? "mmap" : "heap");
	json_out_u64(out, json, "live_bytes", site->live_bytes);
	json_out_u64(out, json, "live_blocks", site->live_blocks);
	json_out_u64(out, json, "allocs", site->allocs);
	json_out_u64(out, json, "bytes", site->bytes);
	json_out_u64(out, json, "peak_bytes", site->peak_bytes);
	json_out_known(out, json, "peak_blocks", site->peak_blocks != VIEW_UNKNOWN,
		       site->peak_blocks);
	json_out_known(out, json, "lifetime_ns", site->lifetime_ns != VIEW_UNKNOWN,
		       site->lifetime_ns);
	json_out_known(out, json, "temporary", site->temporary != VIEW_UNKNOWN, site->temporary);
	json_out_known(out, json, "oldest_ns", has_oldest, site->oldest_ns);
	json_out_known(out, json, "newest_ns", has_newest, site->newest_ns);
	json_add_growth(out, json, site->has_growth, &site->growth);
	json_out_string(out, json, "leak", json_leak_class(site->leak));
	json_add_estimate(out, json, &site->estimate, false);
	json_add_series(out, json, process, site);
	json_add_stack(out, json, "stack_id", true, &site->stack);
	json_add_name_frame(out, json, &site->stack);
	if (has_frees)
		json_add_frees(out, json, site->class == VIEW_HEAP, &site->frees);
	json_out_put(out, json);
}

static void put_process(struct json_out *out, const struct view *view,
			const struct view_process *process)
{
	fputc('{', out->file);
	json_process_head(out, view, process);
	fputs(",\"sites\":[", out->file);
	for (size_t i = 0; i < process->n_sites; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_site(out, process, &process->sites[i], view_has_frees(view));
	}
	fputs("],", out->file);
	json_process_findings(out, view, process);
	fputs(",\"timeline\":", out->file);
	json_timeline(out, view, process);
	json_growth(out, process);
	fputc('}', out->file);
}

int json_write(const struct view *view, FILE *file)
{
	_cleanup_(json_stacks_done) struct json_out out = { .file = file };

	fputc('{', file);
	json_head(&out, view);
	fputs(",\"processes\":[", file);
	for (size_t i = 0; out.error == 0 && i < view_n_processes(view); i++) {
		if (i > 0)
			fputc(',', file);
		put_process(&out, view, view_process(view, i));
	}
	fputs("],\"ended\":", file);
	json_ended(&out, view);
	if (view_opts(view)->where)
		fprintf(file, ",\"processes_left_out\":%zu", view_n_processes_left_out(view));
	fputs(",\"histograms\":", file);
	json_histograms(&out, view);
	fputs(",\"events\":", file);
	json_events(&out, view);
	fputs(",\"syscalls\":", file);
	json_syscalls(&out, view);
	fputs(",\"coverage\":", file);
	json_coverage(&out, view);
	fputc(',', file);
	json_stacks_put(&out);
	fputs("}\n", file);
	if (out.error < 0)
		return out.error;
	return ferror(file) ? -EIO : 0;
}
