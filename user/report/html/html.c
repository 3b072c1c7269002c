/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One page that needs no network: the data as JSON, a style, and scripts that draw it. Whatever a
 * name contains, it stays text: the data has no '<', the scripts make no markup of strings, and the
 * page's own policy forbids to load anything.
 */
#include "base/cleanup.h"
#include "base/interns.h"
#include "model/series.h"
#include "report/flame/flamegraph.h"
#include "report/json/json_out.h"
#include "report/json/json_parts.h"
#include "report/json/json_stacks.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/writers.h"
#include "symbol/function_name.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- stacks ----------------------------------------------------------------------------------- */

/*
 * Numbers of nodes, each a frame and the node of its caller, so that what stacks have in common is
 * there once. Filled while sites are written; the tables follow when they are complete.
 */

/* html_data.js has the same. */
enum { FRAME_INLINE = 1, FRAME_KERNEL = 2, FRAME_MARK = 4 };

struct frame_key {
	uint64_t offset; /* in the object's file, of code whose function is not known */
	uint32_t function, file, line, object;
	uint32_t flags, padding;
};

struct node_key {
	uint32_t caller, frame;
};

/* Zero-initialised is empty. */
struct html_stacks {
	struct interns strings, frames, nodes;
	struct sample_frames list; /* of the stack at hand */
};

static void html_stacks_done(struct html_stacks *stacks)
{
	interns_done(&stacks->strings);
	interns_done(&stacks->frames);
	interns_done(&stacks->nodes);
	sample_frames_done(&stacks->list);
}

static int add_frame(struct html_stacks *stacks, const struct sample_frame *from,
		     uint32_t *ret_number)
{
	const struct view_frame *frame = &from->frame;
	struct frame_key key = { .file = INTERNS_NONE, .object = INTERNS_NONE };
	int r;

	key.flags = from->is_kernel ? FRAME_KERNEL : 0;
	if (from->mark) {
		key.flags |= FRAME_MARK;
		r = interns_number_string(&stacks->strings, from->mark, &key.function);
	} else {
		key.flags |= frame->is_inline ? FRAME_INLINE : 0;
		key.line = frame->line;
		key.offset = frame->function ? 0 : frame->offset;
		r = interns_number_string(&stacks->strings, frame->function, &key.function);
		if (r == 0)
			r = interns_number_string(&stacks->strings, frame->file, &key.file);
		if (r == 0)
			r = interns_number_string(&stacks->strings, frame->place->object,
						  &key.object);
	}
	return r < 0 ? r : interns_number(&stacks->frames, &key, sizeof(key), ret_number);
}

static int64_t number(uint32_t index)
{
	return index == INTERNS_NONE ? -1 : (int64_t)index;
}

/* The node of the innermost frame; -1: the stack has none. 0 or -ENOMEM. */
static int html_stacks_add(struct html_stacks *stacks, const struct view_stack *stack,
			   int64_t *ret_node)
{
	struct node_key key = { .caller = INTERNS_NONE };
	int r = sample_frames_fill(&stacks->list, stack);

	for (size_t i = stacks->list.list.len; r == 0 && i > 0; i--) {
		r = add_frame(stacks, &stacks->list.list.data[i - 1], &key.frame);
		if (r == 0)
			r = interns_number(&stacks->nodes, &key, sizeof(key), &key.caller);
	}
	*ret_node = number(key.caller);
	return r;
}

/* The function's short name, among the strings; INTERNS_NONE: it is the function. */
static int add_short_name(struct html_stacks *stacks, const struct frame_key *frame,
			  uint32_t *ret_number)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	const char *function;

	*ret_number = INTERNS_NONE;
	if (frame->function == INTERNS_NONE || (frame->flags & FRAME_MARK))
		return 0;
	function = interns_get(&stacks->strings, frame->function);
	function_name_short(function, &name);
	if (strbuf_error(&name) < 0 || strcmp(strbuf_str(&name), function) == 0)
		return strbuf_error(&name);
	return interns_number_string(&stacks->strings, strbuf_str(&name), ret_number);
}

/*
 * Writes the members "nodes" (caller, frame, caller, frame, ...; each after its caller), "frames"
 * ([function, file, line, object, offset, flags, short name]; -1 for what is not known, or is the
 * function) and "strings". 0 or -ENOMEM.
 */
static int html_stacks_put(struct html_stacks *stacks, struct json_out *out)
{
	FILE *file = out->file;
	uint32_t short_name;
	int r = 0;

	fputs("\"nodes\":[", file);
	for (size_t i = 0; i < interns_count(&stacks->nodes); i++) {
		const struct node_key *node = interns_get(&stacks->nodes, i);

		fprintf(file, "%s%" PRId64 ",%" PRIu32, i ? "," : "", number(node->caller),
			node->frame);
	}
	fputs("],\n\"frames\":[", file);
	for (size_t i = 0; r == 0 && i < interns_count(&stacks->frames); i++) {
		const struct frame_key *frame = interns_get(&stacks->frames, i);

		r = add_short_name(stacks, frame, &short_name);
		fprintf(file,
			"%s[%" PRId64 ",%" PRId64 ",%" PRIu32 ",%" PRId64 ",%" PRIu64 ",%" PRIu32
			",%" PRId64 "]",
			i ? "," : "", number(frame->function), number(frame->file), frame->line,
			number(frame->object), frame->offset, frame->flags, number(short_name));
	}
	fputs("],\n\"strings\":[", file);
	for (size_t i = 0; i < interns_count(&stacks->strings); i++) {
		if (i > 0)
			fputs(",\n", file);
		json_out_put(out, json_out_new_string(out, interns_get(&stacks->strings, i)));
	}
	fputc(']', file);
	return r;
}

/* --- data ------------------------------------------------------------------------------------- */

/*
 * The members of the stable interface, but with sites as rows of numbers, series as columns and
 * stacks in tables.
 */

/* The points of a timeline by their members; rows would name each of them each time. */
enum point_member { POINT_TIME, POINT_LIVE, POINT_BLOCKS, POINT_ALLOCS, POINT_FREES, POINT_BYTES };

static const char *const point_members[] = {
	[POINT_TIME] = "time_ns",  [POINT_LIVE] = "live_bytes", [POINT_BLOCKS] = "live_blocks",
	[POINT_ALLOCS] = "allocs", [POINT_FREES] = "frees",	[POINT_BYTES] = "bytes",
};

static uint64_t point_value(const struct view_point *point, enum point_member member)
{
	const uint64_t values[] = {
		[POINT_TIME] = point->time_ns,
		[POINT_LIVE] = (uint64_t)point->live_bytes,
		[POINT_BLOCKS] = (uint64_t)point->live_blocks,
		[POINT_ALLOCS] = point->allocs,
		[POINT_FREES] = point->frees,
		[POINT_BYTES] = point->bytes,
	};

	return values[member];
}

/* No value is UINT64_MAX but one that is not known. */
static void put_known(FILE *file, const char *before, uint64_t value)
{
	if (value == UINT64_MAX)
		fprintf(file, "%snull", before);
	else
		fprintf(file, "%s%" PRIu64, before, value);
}

/* `offset`: of the member, UINT64_MAX where it is not known. */
static void put_usage(FILE *file, const struct view_timeline *timeline, const char *name,
		      size_t offset)
{
	fprintf(file, ",\"%s\":[", name);
	for (size_t i = 0; i < timeline->n; i++) {
		const char *point = (const char *)&timeline->points[i];

		put_known(file, i ? "," : "", *(const uint64_t *)(const void *)(point + offset));
	}
	fputc(']', file);
}

static void put_timeline(struct json_out *out, const struct view *view,
			 const struct view_timeline *timeline)
{
	size_t n_members = sizeof(point_members) / sizeof(point_members[0]);

	fputs(",\"timeline\":", out->file);
	if (!timeline->n) {
		fputs("null", out->file);
		return;
	}
	put_known(out->file, "{\"peak_ns\":", timeline->peak_ns);
	put_known(out->file, ",\"peak_rss\":", timeline->peak_rss_bytes);
	fprintf(out->file, ",\"peak_rss_exact\":%s", timeline->peak_rss_exact ? "true" : "false");
	put_known(out->file, ",\"sites_left_out\":",
		  timeline->has_heap ? series_left_out(model_series(view_model(view))) :
				       UINT64_MAX);
	for (size_t i = 0; i < n_members; i++) {
		if (i != POINT_TIME && !timeline->has_heap) {
			fprintf(out->file, ",\"%s\":null", point_members[i]);
			continue;
		}
		fprintf(out->file, ",\"%s\":[", point_members[i]);
		for (size_t j = 0; j < timeline->n; j++)
			fprintf(out->file, "%s%" PRIu64, j ? "," : "",
				point_value(&timeline->points[j], (enum point_member)i));
		fputc(']', out->file);
	}
	put_usage(out->file, timeline, "rss", offsetof(struct view_point, rss_bytes));
	put_usage(out->file, timeline, "pss", offsetof(struct view_point, pss_bytes));
	put_usage(out->file, timeline, "cgroup", offsetof(struct view_point, cgroup_bytes));
	fputc('}', out->file);
}

/* The first point that is known, then what it held at this one and those after it. */
static void put_series(FILE *file, const struct view_series *series, size_t n_points)
{
	if (!series->live_bytes) {
		fputs(",null", file);
		return;
	}
	fprintf(file, ",[%zu", series->first);
	for (size_t i = series->first; i < n_points; i++)
		fprintf(file, ",%" PRId64, series->live_bytes[i]);
	fputc(']', file);
}

static void put_growth(FILE *file, const struct view_site *site)
{
	const struct growth *growth = &site->growth;

	if (site->has_growth)
		fprintf(file, ",[\"%s\",%.3f,%.3f]", growth_verdict_name(growth->verdict),
			growth->bytes_per_s, growth->confidence);
	else
		fputs(",null", file);
}

static void put_margins(FILE *file, const struct view_estimate *estimate)
{
	const uint64_t margins[] = {
		estimate->ci95_bytes,		estimate->ci95_blocks, estimate->ci95_peak_bytes,
		estimate->ci95_allocated_bytes, estimate->ci95_allocs,
	};

	for (size_t i = 0; i < sizeof(margins) / sizeof(margins[0]); i++)
		put_known(file, ",", estimate->interval ? margins[i] : UINT64_MAX);
}

/* A row; html_data.js has the names of its columns. */
static int put_site(struct json_out *out, struct html_stacks *stacks,
		    const struct view_process *process, const struct view_site *site)
{
	const char *leak = json_leak_class(site->leak);
	FILE *file = out->file;
	int64_t node;
	int r = html_stacks_add(stacks, &site->stack, &node);

	if (r < 0)
		return r;
	fprintf(file, "[\"%016" PRIx64 "\",%d,%" PRId64 ",%" PRId64, site->id,
		site->class == VIEW_MMAP, site->live_bytes, site->live_blocks);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRId64, site->allocs, site->bytes,
		site->peak_bytes);
	put_known(file, ",", site->temporary);
	put_known(file, ",", site->oldest_ns);
	put_known(file, ",", site->newest_ns);
	if (leak)
		fprintf(file, ",\"%s\"", leak);
	else
		fputs(",null", file);
	put_growth(file, site);
	put_margins(file, &site->estimate);
	put_series(file, &site->series, process->timeline.n);
	fprintf(file, ",%zu,%" PRId64 "]", view_stack_name_index(&site->stack), node);
	return 0;
}

/* [site, node, blocks, bytes, other thread, unknown, total ns, [bucket, blocks, ...]] */
static int put_free(struct json_out *out, struct html_stacks *stacks, size_t site,
		    const struct view_free *place, bool first)
{
	const char *comma = "";
	int64_t node;
	int r = html_stacks_add(stacks, &place->stack, &node);

	if (r < 0)
		return r;
	fprintf(out->file,
		"%s[%zu,%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",[",
		first ? "" : ",\n", site, node, place->count, place->bytes, place->others,
		place->unknown, place->total_ns);
	for (size_t i = 0; i < RECORD_LIFETIMES; i++) {
		if (place->lifetimes[i] == 0)
			continue;
		fprintf(out->file, "%s%zu,%" PRIu64, comma, i, place->lifetimes[i]);
		comma = ",";
	}
	fputs("]]", out->file);
	return 0;
}

/* Where blocks of the sites, by their numbers, are freed. */
static int put_frees(struct json_out *out, struct html_stacks *stacks,
		     const struct view_process *process)
{
	bool first = true;
	int r = 0;

	fputs(",\"frees\":[", out->file);
	for (size_t i = 0; r == 0 && i < process->n_sites; i++) {
		const struct view_frees *frees = &process->sites[i].frees;

		for (size_t j = 0; r == 0 && j < frees->n; j++) {
			r = put_free(out, stacks, i, &frees->list[j], first);
			first = false;
		}
	}
	fputc(']', out->file);
	return r;
}

static void put_mmap(struct json_out *out, const struct view *view,
		     const struct view_process *process)
{
	uint64_t looked_at_ns = view_looked_at_ns(view, process);
	const struct region_totals *mmap = &process->mmap;

	if (!process->has_mmap) {
		fputs(",\"mmap\":null", out->file);
		return;
	}
	fprintf(out->file,
		",\"mmap\":{\"live_bytes\":%" PRId64 ",\"live_blocks\":%" PRId64
		",\"peak_bytes\":%" PRId64 ",\"allocs\":%" PRIu64 ",\"bytes\":%" PRIu64,
		mmap->live_bytes, mmap->live_blocks, mmap->peak_bytes, mmap->allocs, mmap->bytes);
	if (mmap->left_out)
		fprintf(out->file, ",\"left_out\":%" PRIu64, mmap->left_out);
	if (looked_at_ns)
		fprintf(out->file, ",\"looked_at_ns\":%" PRIu64, looked_at_ns);
	fputc('}', out->file);
}

static int put_process(struct json_out *out, struct html_stacks *stacks, const struct view *view,
		       const struct view_process *process)
{
	FILE *file = out->file;
	int r = 0;

	fputc('{', file);
	json_process_head(out, view, process);
	fprintf(file, ",\"exact\":%s,\"peak_error_bytes\":%" PRIu64,
		process->exact ? "true" : "false", process->totals.peak_error_bytes);
	if (process->image->inherits)
		fputs(",\"inherits\":true", file);
	if (process->is_past)
		fputs(",\"past\":true", file);
	fprintf(file, ",\"left_out\":{\"sites\":%zu,\"bytes\":%" PRId64 ",\"by\":\"%s\"}",
		process->n_left_out, process->left_out_bytes, view_filters(view));
	put_mmap(out, view, process);
	fputc(',', file);
	json_process_findings(out, view, process);
	put_timeline(out, view, &process->timeline);
	json_growth(out, process);
	fputs(",\"sites\":[", file);
	for (size_t i = 0; r == 0 && i < process->n_sites; i++) {
		if (i > 0)
			fputs(",\n", file);
		r = put_site(out, stacks, process, &process->sites[i]);
	}
	fputc(']', file);
	if (r == 0 && view_has_frees(view))
		r = put_frees(out, stacks, process);
	fputc('}', file);
	return r;
}

static int put_stack(struct json_out *out, struct html_stacks *stacks,
		     const struct view_event_stack *stack, uint64_t value)
{
	const struct model_process *image = stack->image;
	int64_t node;
	int r = html_stacks_add(stacks, &stack->stack, &node);

	if (r < 0)
		return r;
	fputc('[', out->file);
	put_known(out->file, "", image->known ? image->pid : UINT64_MAX);
	fputc(',', out->file);
	json_out_put(out, json_out_new_string(out, image->comm));
	fprintf(out->file, ",%" PRIu64 ",%" PRId64 "]", value, node);
	return 0;
}

static int put_event(struct json_out *out, struct html_stacks *stacks,
		     const struct view_event *event)
{
	int r = 0;

	fputs("{\"name\":", out->file);
	json_out_put(out, json_out_new_string(out, event->asked->name));
	fprintf(out->file,
		",\"unit\":\"%s\",\"page_bytes\":%" PRIu64 ",\"count\":%" PRIu64 ",\"stacks\":[",
		sample_unit(event, SORT_BYTES), event->asked->page_bytes, view_event_total(event));
	for (size_t i = 0; r == 0 && i < event->n_stacks; i++) {
		if (i > 0)
			fputs(",\n", out->file);
		r = put_stack(out, stacks, &event->stacks[i],
			      view_event_value(event, &event->stacks[i]));
	}
	fputs("]}", out->file);
	return r;
}

static void put_coverage_words(struct json_out *out, const struct view *view)
{
	_cleanup_strbuf_ struct strbuf words = { 0 };

	coverage_words(view, &words);
	if (strbuf_error(&words) < 0)
		out->error = strbuf_error(&words);
	fputs(",\n\"coverage_words\":", out->file);
	json_out_put(out, json_out_new_string(out, strbuf_str(&words)));
}

static int put_lists(struct json_out *out, struct html_stacks *stacks, const struct view *view)
{
	int r = 0;

	fputs(",\n\"processes\":[", out->file);
	for (size_t i = 0; r == 0 && i < view_n_processes(view); i++) {
		if (i > 0)
			fputs(",\n", out->file);
		r = put_process(out, stacks, view, view_process(view, i));
	}
	fputs("],\n\"events\":[", out->file);
	for (size_t i = 0; r == 0 && i < view_n_events(view); i++) {
		if (i > 0)
			fputs(",\n", out->file);
		r = put_event(out, stacks, view_event(view, i));
	}
	fputs("],\n\"ended\":", out->file);
	json_ended(out, view);
	if (view_opts(view)->where)
		fprintf(out->file, ",\n\"processes_left_out\":%zu",
			view_n_processes_left_out(view));
	fputs(",\n\"histograms\":", out->file);
	json_histograms(out, view);
	fputs(",\n\"syscalls\":", out->file);
	json_syscalls(out, view);
	fputs(",\n\"coverage\":", out->file);
	json_coverage(out, view);
	put_coverage_words(out, view);
	return r;
}

/* Writes the object. 0 or -ENOMEM; errors of the output stick to it. */
static int html_data_put(struct json_out *out, const struct view *view)
{
	_cleanup_(html_stacks_done) struct html_stacks stacks = { 0 };
	int r;

	fputc('{', out->file);
	json_head(out, view);
	fprintf(out->file, ",\"allocations\":%s,\"lost_nothing\":%s,\"root\":%s",
		view_has_allocations(view) ? "true" : "false",
		view_lost_nothing(view) ? "true" : "false",
		view_n_processes(view) > 0 && view_process(view, 0)->image->root ? "true" :
										   "false");
	fprintf(out->file, ",\"age_resolution_ns\":%" PRIu64, view_age_resolution_ns(view));
	r = put_lists(out, &stacks, view);
	if (r < 0)
		return r;
	fputs(",\n", out->file);
	r = html_stacks_put(&stacks, out);
	/* The parts that JSON has as well refer to its tables. */
	fputs(",\n\"tables\":{", out->file);
	json_stacks_put(out);
	fputs("}}", out->file);
	return r;
}

/* --- the page --------------------------------------------------------------------------------- */

static const char style[] =
#include "html_css.h"
	;

/* In the order in which they build on each other. */
static const char data_script[] =
#include "html_data_js.h"
	;
static const char totals_script[] =
#include "html_totals_js.h"
	;
static const char timeline_script[] =
#include "html_timeline_js.h"
	;
static const char flame_script[] =
#include "html_flame_js.h"
	;
static const char sites_script[] =
#include "html_sites_js.h"
	;
static const char jobs_script[] =
#include "html_jobs_js.h"
	;
static const char page_script[] =
#include "html_page_js.h"
	;
static const char *const scripts[] = { data_script,  totals_script, timeline_script, flame_script,
				       sites_script, jobs_script,   page_script };

static int put_head(const struct view *view, FILE *file)
{
	_cleanup_strbuf_ struct strbuf title = { 0 }, text = { 0 };

	flamegraph_title(view, &title);
	text_xml(&text, strbuf_str(&title));
	if (strbuf_error(&title) < 0 || strbuf_error(&text) < 0)
		return -ENOMEM;
	fprintf(file,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<title>%s</title>\n<style>\n%s</style>\n</head>\n<body>\n"
		"<noscript>This report is drawn by scripts of its own, which are switched off "
		"here.</noscript>\n",
		text.len > 0 ? strbuf_str(&text) : "memtraced", style);
	return 0;
}

int html_write(const struct view *view, FILE *file)
{
	_cleanup_(json_stacks_done) struct json_out out = { .file = file, .in_html = true };
	int r = put_head(view, file);

	if (r < 0)
		return r;
	fputs("<script type=\"application/json\" id=\"data\">\n", file);
	r = html_data_put(&out, view);
	if (r == 0)
		r = out.error;
	if (r < 0)
		return r;
	fputs("</script>\n<script>\n", file);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		fputs(scripts[i], file);
	fputs("</script>\n</body>\n</html>\n", file);
	return ferror(file) ? -EIO : 0;
}
