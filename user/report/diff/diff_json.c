/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A diff as one object on one line: the two runs, then each program with its totals and its sites.
 * What was not there before, or is not any more, is null; the change is there always.
 */
#include "base/saturate.h"
#include "report/diff/diff.h"
#include "report/diff/diff_json_jobs.h"
#include "report/diff/diff_json_stack.h"
#include "report/diff/diff_writers.h"
#include "report/json/json_coverage.h"
#include "report/json/json_out.h"
#include "report/json/json_site.h"
#include "report/json/json_stacks.h"

#include <errno.h>

static void put_run(struct json_out *out, const char *key, const struct diff_run *run)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	json_out_string(out, json, "file", run->path);
	json_out_bool(out, json, "exact", view_is_exact(run->view));
	json_out_bool(out, json, "damaged", run->damaged);
	fprintf(out->file, "\"%s\":{", key);
	json_out_put_members(out, json);
	fputc(',', out->file);
	json_run(out, run->view);
	fputs("},", out->file);
}

static struct json_object *values_json(struct json_out *out, const struct diff_values *values,
				       bool is_process)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	json_out_u64(out, json, "live_bytes", values->live_bytes);
	json_out_u64(out, json, "live_blocks", values->live_blocks);
	json_out_u64(out, json, "peak_bytes", values->peak_bytes);
	json_out_u64(out, json, "allocs", values->allocs);
	json_out_u64(out, json, "bytes", values->bytes);
	json_out_known(out, json, "temporary", !values->estimate.interval, values->temporary);
	json_add_estimate(out, json, &values->estimate, is_process);
	return json;
}

static void add_change(struct json_out *out, struct json_object *to, const char *key, int64_t value)
{
	json_out_add(out, to, key, json_object_new_int64(value));
}

static struct json_object *change_json(struct json_out *out,
				       const struct diff_values sides[DIFF_SIDES], bool is_process)
{
	const struct view_estimate estimate = diff_estimate(sides);
	const struct diff_values *before = &sides[DIFF_BEFORE], *after = &sides[DIFF_AFTER];
	struct json_object *json = json_out_new(out);

	if (!json)
		return NULL;
	add_change(out, json, "live_bytes",
		   saturate_subtract(after->live_bytes, before->live_bytes));
	add_change(out, json, "live_blocks",
		   saturate_subtract(after->live_blocks, before->live_blocks));
	add_change(out, json, "peak_bytes",
		   saturate_subtract(after->peak_bytes, before->peak_bytes));
	add_change(out, json, "allocs", (int64_t)(after->allocs - before->allocs));
	add_change(out, json, "bytes", (int64_t)(after->bytes - before->bytes));
	if (estimate.interval) /* samples do not tell it */
		json_out_null(out, json, "temporary");
	else
		add_change(out, json, "temporary", (int64_t)(after->temporary - before->temporary));
	json_add_estimate(out, json, &estimate, is_process);
	return json;
}

static void add_sides(struct json_out *out, struct json_object *to,
		      const struct diff_values sides[DIFF_SIDES], bool has_before, bool has_after,
		      bool is_process)
{
	if (has_before)
		json_out_add(out, to, "before", values_json(out, &sides[DIFF_BEFORE], is_process));
	else
		json_out_null(out, to, "before");
	if (has_after)
		json_out_add(out, to, "after", values_json(out, &sides[DIFF_AFTER], is_process));
	else
		json_out_null(out, to, "after");
	json_out_add(out, to, "change", change_json(out, sides, is_process));
}

static void put_site(struct json_out *out, const struct diff_site *site)
{
	bool one_place = site->places[DIFF_BEFORE] <= 1 && site->places[DIFF_AFTER] <= 1;
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	json_out_string(out, json, "class", site->class == VIEW_MMAP ? "mmap" : "heap");
	json_out_u64(out, json, "places_before", site->places[DIFF_BEFORE]);
	json_out_u64(out, json, "places_after", site->places[DIFF_AFTER]);
	add_sides(out, json, site->sides, site->places[DIFF_BEFORE] > 0,
		  site->places[DIFF_AFTER] > 0, false);
	json_out_bool(out, json, "truncated",
		      site->site->stack.truncated || site->site->stack.lost);
	diff_json_stack(out, json, &site->site->stack, one_place);
	json_out_put(out, json);
}

static struct json_object *totals_json(struct json_out *out,
				       const struct diff_values sides[DIFF_SIDES],
				       const struct diff_program *program)
{
	struct json_object *json = json_out_new(out);

	if (json)
		add_sides(out, json, sides, program->processes[DIFF_BEFORE] > 0,
			  program->processes[DIFF_AFTER] > 0, true);
	return json;
}

static void put_program(struct json_out *out, const struct diff *diff,
			const struct diff_program *program)
{
	struct json_object *json = json_out_new(out);

	if (!json)
		return;
	json_out_string(out, json, "name", program->name);
	json_out_u64(out, json, "processes_before", program->processes[DIFF_BEFORE]);
	json_out_u64(out, json, "processes_after", program->processes[DIFF_AFTER]);
	json_out_bool(out, json, "exact", diff_exact(program));
	json_out_add(out, json, "heap", totals_json(out, program->heap, program));
	json_out_add(out, json, "mmap", totals_json(out, program->mmap, program));
	json_out_u64(out, json, "sites_left_out", program->n_left_out);
	fputc('{', out->file);
	json_out_put_members(out, json);
	fputs(",\"sites\":[", out->file);
	for (size_t i = 0; i < program->n_sites; i++) {
		if (i > 0)
			fputc(',', out->file);
		put_site(out, diff_site(diff, program->first + i));
	}
	fputs("]}", out->file);
}

int diff_json_write(const struct diff *diff, FILE *file)
{
	_cleanup_(json_stacks_done) struct json_out out = { .file = file };

	fputs("{\"version\":2,\"report\":\"diff\",", file);
	put_run(&out, "before", diff_run(diff, DIFF_BEFORE));
	put_run(&out, "after", diff_run(diff, DIFF_AFTER));
	fputs("\"programs\":[", file);
	for (size_t i = 0; out.error == 0 && i < diff_n_programs(diff); i++) {
		if (i > 0)
			fputc(',', file);
		put_program(&out, diff, diff_program(diff, i));
	}
	fputs("],", file);
	diff_json_jobs(&out, diff);
	fputc(',', file);
	json_stacks_put(&out);
	fputs("}\n", file);
	if (out.error < 0)
		return out.error;
	return ferror(file) ? -EIO : 0;
}
