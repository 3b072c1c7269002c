/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file for speedscope (FORMATS.md 8.1): a profile for each quantity, which its menu offers, all
 * over one table of frames. The table is written last, since it is complete only then.
 */
#include "base/interns.h"
#include "base/vec.h"
#include "report/json/json_out.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static enum sample_cost first_cost(const struct view *view)
{
	enum option_sort sort = view_opts(view)->sort;

	if (view_class_shown(view) == VIEW_MMAP)
		return sort == SORT_PEAK  ? COST_MAPPED_PEAK :
		       sort == SORT_COUNT ? COST_REGIONS :
					    COST_MAPPED;
	switch (view_site_quantity(sort)) {
	case SORT_PEAK:
		return COST_PEAK;
	case SORT_TEMPORARY:
		return COST_TEMPORARY;
	default:
		return sort == SORT_COUNT ? COST_LIVE_BLOCKS : COST_LIVE;
	}
}

/* The profile that is shown first. */
static size_t first_profile(const struct view *view, const struct sample_cost_list *list)
{
	enum sample_cost first = first_cost(view);

	for (size_t i = 0; i < list->n; i++)
		if (list->costs[i] == first)
			return i;
	return 0;
}

#define LINE_DIFFERS UINT32_MAX

struct scope {
	struct json_out out;
	size_t cost;		     /* the one of the profile at hand */
	struct interns functions;    /* name and file, each with its end; no file: "" */
	VEC(uint32_t) lines;	     /* of the functions, where all their frames have the same */
	struct sample_frames frames; /* of the stack at hand */
	VEC(uint64_t) weights;	     /* of the profile at hand */
	uint64_t sum;
	struct strbuf key;
};

/*
 * Frames of one function are one entry of the table, which speedscope draws as one box: two calls
 * from two lines of main would be two mains.
 */
static int put_frame(struct scope *scope, const char *name, const char *file, uint32_t line)
{
	size_t index;
	int r;

	strbuf_reset(&scope->key);
	strbuf_add(&scope->key, name, strlen(name) + 1);
	strbuf_add(&scope->key, file, strlen(file) + 1);
	r = strbuf_error(&scope->key);
	if (r == 0)
		r = interns_add(&scope->functions, strbuf_str(&scope->key), scope->key.len, &index);
	if (r == 1)
		r = vec_push(&scope->lines, line);
	if (r < 0)
		return r;
	if (scope->lines.data[index] != line)
		scope->lines.data[index] = LINE_DIFFERS;
	fprintf(scope->out.file, "%zu", index);
	return 0;
}

static int put_process(struct scope *scope, const struct model_process *image)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	strbuf_adds(&name, *image->comm ? image->comm : "unknown");
	if (image->known)
		strbuf_addf(&name, "-%" PRIu32, image->pid);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	return put_frame(scope, strbuf_str(&name), "", 0);
}

static int put_sample_frame(struct scope *scope, const struct sample_frame *from)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	const char *file = from->mark ? NULL : from->frame.file;

	sample_frame_name(from, &name);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	fputc(',', scope->out.file);
	return put_frame(scope, strbuf_str(&name), file ? file : "", file ? from->frame.line : 0);
}

static int put_stack(const struct sample *sample, void *userdata)
{
	struct scope *scope = userdata;
	uint64_t costs[SAMPLE_COSTS], weight;
	int r;

	weight = sample_costs(sample, costs) ? costs[scope->cost] : 0;
	if (weight == 0)
		return 0;
	r = sample_frames_fill(&scope->frames, sample->stack);
	if (r < 0)
		return r;
	fputs(scope->weights.len > 0 ? ",\n[" : "[", scope->out.file);
	r = put_process(scope, sample->image);
	for (size_t i = scope->frames.list.len; r == 0 && i > 0; i--)
		r = put_sample_frame(scope, &scope->frames.list.data[i - 1]);
	fputc(']', scope->out.file);
	scope->sum += weight;
	return r < 0 ? r : vec_push(&scope->weights, weight);
}

static int put_profile(struct scope *scope, const struct view *view, size_t cost, const char *name,
		       const char *unit)
{
	FILE *file = scope->out.file;
	int r;

	scope->cost = cost;
	scope->weights.len = 0;
	scope->sum = 0;
	fputs("{\"type\":\"sampled\",\"name\":", file);
	json_out_put(&scope->out, json_out_new_string(&scope->out, name));
	fprintf(file, ",\"unit\":\"%s\",\"samples\":[", unit);
	r = samples_of_classes(view, put_stack, scope);
	fputs("],\"weights\":[", file);
	for (size_t i = 0; r == 0 && i < scope->weights.len; i++)
		fprintf(file, "%s%" PRIu64, i > 0 ? "," : "", scope->weights.data[i]);
	fprintf(file, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", scope->sum);
	return r;
}

static void put_functions(struct scope *scope)
{
	FILE *file = scope->out.file;

	for (size_t i = 0; i < interns_count(&scope->functions); i++) {
		const char *name = interns_get(&scope->functions, i);
		const char *source = name + strlen(name) + 1;
		uint32_t line = scope->lines.data[i];

		fputs(i == 0 ? "{\"name\":" : ",\n{\"name\":", file);
		json_out_put(&scope->out, json_out_new_string(&scope->out, name));
		if (*source) {
			fputs(",\"file\":", file);
			json_out_put(&scope->out, json_out_new_string(&scope->out, source));
		}
		if (line != 0 && line != LINE_DIFFERS)
			fprintf(file, ",\"line\":%" PRIu32, line);
		fputc('}', file);
	}
}

/* What the window is called: of which process it is, and whether something is missing. */
static int put_name(struct scope *scope, const struct view *view)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	if (view_n_processes(view) > 0) {
		const struct model_process *image = view_process(view, 0)->image;

		strbuf_addf(&name, "%s-%" PRIu32, image->comm, image->pid);
	} else {
		strbuf_adds(&name, "no process");
	}
	if (view_n_programs(view) > 1)
		strbuf_addf(&name, " and %zu more", view_n_programs(view) - 1);
	if (!view_is_exact(view))
		strbuf_addf(&name, " (%s)", coverage_state_name(coverage_state(view)));
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	json_out_put(&scope->out, json_out_new_string(&scope->out, strbuf_str(&name)));
	return 0;
}

static int put_profiles(struct scope *scope, const struct view *view,
			const struct sample_cost_list *list, const struct view_event *event)
{
	int r = 0;

	if (event)
		return put_profile(scope, view, COST_TIMES, event->asked->name,
				   event->asked->timed ? "nanoseconds" : "none");
	for (size_t i = 0; r == 0 && i < list->n; i++) {
		enum sample_cost cost = list->costs[i];

		if (i > 0)
			fputs(",\n", scope->out.file);
		r = put_profile(scope, view, cost, sample_cost_name(view, cost),
				sample_cost_types[cost].unit);
	}
	return r;
}

static int put_file(struct scope *scope, const struct view *view, const struct view_event *event)
{
	const struct record_run *run = model_run(view_model(view));
	const struct sample_cost_list list = sample_cost_list(view);
	FILE *file = scope->out.file;
	int r;

	fputs("{\"$schema\":\"" SCHEMA "\",\n\"name\":", file);
	r = put_name(scope, view);
	if (r < 0)
		return r;
	if (run) {
		fputs(",\"exporter\":", file);
		json_out_put(&scope->out, json_out_new_string(&scope->out, run->tool));
	}
	fprintf(file, ",\"activeProfileIndex\":%zu,\n\"profiles\":[\n",
		event ? 0 : first_profile(view, &list));
	r = put_profiles(scope, view, &list, event);
	if (r < 0)
		return r;
	fputs("],\n\"shared\":{\"frames\":[\n", file);
	put_functions(scope);
	fputs("]}}\n", file);
	return scope->out.error;
}

int speedscope_write(const struct view *view, FILE *file)
{
	struct scope scope = { .out = { .file = file } };
	const struct view_event *event;
	int r;

	if (!view_job(view, &event))
		return 0;
	r = put_file(&scope, view, event);
	interns_done(&scope.functions);
	vec_done(&scope.lines);
	vec_done(&scope.weights);
	sample_frames_done(&scope.frames);
	strbuf_done(&scope.key);
	return r == 0 && ferror(file) ? -EIO : r;
}
