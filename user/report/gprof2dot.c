/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gprof2dot's own JSON, which unlike perf-script text brings it bytes (FORMATS.md 1.6): functions
 * once, and per stack its functions, callee first, with one cost. Written as it comes; the table of
 * functions, which is complete only then, is last.
 */
#include "base/interns.h"
#include "base/vec.h"
#include "report/json/json_out.h"
#include "report/samples.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct graph {
	struct json_out out;
	enum option_sort sort;
	struct interns functions;    /* name and module, each with its end; no module: "" */
	struct sample_frames frames; /* of the stack at hand */
	VEC(size_t) chain;	     /* its functions */
	struct strbuf key;
	bool any; /* an event was written */
};

/* The function of that name becomes the next one in the chain. */
static int push_function(struct graph *graph, const char *name, const char *module)
{
	size_t index;
	int r;

	strbuf_reset(&graph->key);
	strbuf_add(&graph->key, name, strlen(name) + 1);
	strbuf_add(&graph->key, module, strlen(module) + 1);
	r = strbuf_error(&graph->key);
	if (r == 0)
		r = interns_add(&graph->functions, strbuf_str(&graph->key), graph->key.len, &index);
	return r < 0 ? r : vec_push(&graph->chain, index);
}

static const char *module_of(const struct sample_frame *frame)
{
	if (frame->mark)
		return frame->is_kernel ? "[kernel.kallsyms]" : "";
	return frame->frame.place->object ? text_base_name(frame->frame.place->object) : "";
}

static int push_frame(struct graph *graph, const struct sample_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	sample_frame_name(frame, &name);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	return push_function(graph, strbuf_str(&name), module_of(frame));
}

/* The reader takes the first function of a chain without asking whether there is one. */
static int push_stack(struct graph *graph, const struct view_stack *stack)
{
	int r = sample_frames_fill(&graph->frames, stack);

	graph->chain.len = 0;
	for (size_t i = 0; r == 0 && i < graph->frames.list.len; i++)
		r = push_frame(graph, &graph->frames.list.data[i]);
	if (r == 0 && graph->chain.len == 0)
		r = push_function(graph, "[unknown]", "");
	return r;
}

static int add_sample(const struct sample *sample, void *userdata)
{
	struct graph *graph = userdata;
	uint64_t cost = sample_weight(sample, graph->sort);
	FILE *file = graph->out.file;
	int r;

	if (cost == 0)
		return 0;
	r = push_stack(graph, sample->stack);
	if (r < 0)
		return r;
	fprintf(file, "%s{\"callchain\":[", graph->any ? "," : "");
	for (size_t i = 0; i < graph->chain.len; i++)
		fprintf(file, "%s%zu", i > 0 ? "," : "", graph->chain.data[i]);
	fprintf(file, "],\"cost\":[%" PRIu64 "]}", cost);
	graph->any = true;
	return 0;
}

static void put_string(struct graph *graph, const char *s)
{
	json_out_put(&graph->out, json_out_new_string(&graph->out, s));
}

static void put_functions(struct graph *graph)
{
	FILE *file = graph->out.file;

	for (size_t i = 0; i < interns_count(&graph->functions); i++) {
		const char *name = interns_get(&graph->functions, i);
		const char *module = name + strlen(name) + 1;

		fputs(i == 0 ? "{\"name\":" : ",{\"name\":", file);
		put_string(graph, name);
		if (*module) {
			fputs(",\"module\":", file);
			put_string(graph, module);
		}
		fputc('}', file);
	}
}

static int write_graph(struct graph *graph, const struct view *view, const struct view_event *event)
{
	_cleanup_strbuf_ struct strbuf what = { 0 };
	FILE *file = graph->out.file;
	int r;

	fputs("{\"version\":0,\"costs\":[{\"description\":", file);
	strbuf_adds(&what, sample_what(event, view_class_shown(view), graph->sort));
	if (sample_peaks_differ(view, graph->sort))
		strbuf_adds(&what, ", " SAMPLE_PEAKS_DIFFER);
	if (strbuf_error(&what) < 0)
		return strbuf_error(&what);
	put_string(graph, strbuf_str(&what));
	fprintf(file, ",\"unit\":\"%s\"}],\"events\":[", sample_unit(event, graph->sort));
	r = samples_each(view, add_sample, graph);
	if (r < 0)
		return r;
	fputs("],\"functions\":[", file);
	put_functions(graph);
	fputs("]}\n", file);
	return graph->out.error;
}

int gprof2dot_write(const struct view *view, FILE *file)
{
	struct graph graph = { .out = { .file = file }, .sort = view_opts(view)->sort };
	const struct view_event *event;
	int r;

	if (!view_job(view, &event))
		return 0;
	r = write_graph(&graph, view, event);
	interns_done(&graph.functions);
	sample_frames_done(&graph.frames);
	vec_done(&graph.chain);
	strbuf_done(&graph.key);
	return r == 0 && ferror(file) ? -EIO : r;
}
