/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Callgrind's format for kcachegrind and callgrind_annotate (Valgrind manual, "Callgrind Format
 * Specification"): functions with their own costs by line, and their calls with what these cost in
 * all. Names are written once and then by number. How often a function was called is not known:
 * the count of a call is that of the allocations and mappings, or events, that came through it.
 */
#include "base/escape.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "report/call_graph.h"
#include "report/one_process.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>

struct graph {
	FILE *file;
	struct call_graph calls;
	const struct view_event *event; /* NULL: allocations */
	struct sample_cost_list list;	/* of what is written */
	struct sample_frames frames;	/* of the stack at hand */
	/* where the text is */
	size_t function;
	VEC(bool) named; /* functions whose names have been written */
};

/* All that a process did stands below a function of its name. */
static int push_process(struct graph *graph, const struct model_process *image)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	struct call_function function = { .object = "", .file = "" };

	escape_text(&name, *image->comm ? image->comm : "unknown");
	if (image->known)
		strbuf_addf(&name, "-%" PRIu32, image->pid);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	function.name = strbuf_str(&name);
	return call_graph_push(&graph->calls, &function, 0);
}

static int push_frame(struct graph *graph, const struct sample_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, clean = { 0 };
	_cleanup_strbuf_ struct strbuf file = { 0 }, object = { 0 };
	struct call_function function;

	sample_frame_name(frame, &name);
	escape_text(&clean, strbuf_str(&name));
	if (!frame->mark && frame->frame.file)
		escape_text(&file, frame->frame.file);
	if (!frame->mark && frame->frame.place->object)
		escape_text(&object, frame->frame.place->object);
	if (strbuf_error(&name) < 0 || strbuf_error(&clean) < 0 || strbuf_error(&file) < 0 ||
	    strbuf_error(&object) < 0)
		return -ENOMEM;
	function = (struct call_function){
		.object = strbuf_str(&object),
		.file = strbuf_str(&file),
		.name = strbuf_str(&clean),
	};
	return call_graph_push(&graph->calls, &function, frame->mark ? 0 : frame->frame.line);
}

static int add_stack(const struct sample *sample, void *userdata)
{
	struct graph *graph = userdata;
	/* As in valgrind's own files of allocations: their callers have the costs of allocators. */
	size_t innermost = sample_frames_name_index(sample->stack);
	uint64_t costs[SAMPLE_COSTS];
	int r;

	if (sample_costs(sample, costs) == 0)
		return 0;
	call_graph_begin(&graph->calls, costs);
	r = push_process(graph, sample->image);
	if (r == 0)
		r = sample_frames_fill(&graph->frames, sample->stack);
	for (size_t i = graph->frames.list.len; r == 0 && i > innermost; i--)
		r = push_frame(graph, &graph->frames.list.data[i - 1]);
	return r < 0 ? r : call_graph_end(&graph->calls);
}

static void put_costs(const struct graph *graph, const uint64_t *costs)
{
	for (size_t i = 0; i < graph->list.n; i++)
		fprintf(graph->file, " %" PRIu64, costs[graph->list.costs[i]]);
	fputc('\n', graph->file);
}

/*
 * A position names object, file and function. Functions have their own numbers; objects and files,
 * of which there are few, are written out.
 */
static int put_function(struct graph *graph, size_t index, const char *prefix)
{
	struct call_function function = call_graph_function(&graph->calls, index);
	const char *unknown = "???";

	while (graph->named.len <= index) {
		int r = vec_push(&graph->named, false);

		if (r < 0)
			return r;
	}
	fprintf(graph->file, "%sob=%s\n", prefix, *function.object ? function.object : unknown);
	fprintf(graph->file, "%s=%s\n", *prefix ? "cfi" : "fl",
		*function.file ? function.file : unknown);
	fprintf(graph->file, "%sfn=(%zu)", prefix, index + 1);
	if (!graph->named.data[index])
		fprintf(graph->file, " %s", function.name);
	fputc('\n', graph->file);
	graph->named.data[index] = true;
	return 0;
}

static int put_entry(const struct call_entry *entry, void *userdata)
{
	struct graph *graph = userdata;
	int r = 0;

	if (entry->function != graph->function) {
		fputc('\n', graph->file);
		r = put_function(graph, entry->function, "");
	}
	graph->function = entry->function;
	if (r == 0 && entry->callee != CALL_OWN) {
		r = put_function(graph, entry->callee, "c");
		fprintf(graph->file, "calls=%" PRIu64 " 0\n",
			graph->event ? entry->costs[COST_TIMES] :
				       entry->costs[COST_ALLOCS] + entry->costs[COST_MAPPINGS]);
	}
	fprintf(graph->file, "%" PRIu32, entry->line);
	put_costs(graph, entry->costs);
	return r;
}

/* A name that is one word, as the list of events wants it. */
static void put_event_name(struct graph *graph)
{
	const char *unit = graph->event->asked->timed ? "Nanoseconds" : "Times";
	_cleanup_strbuf_ struct strbuf name = { 0 };

	text_word(&name, *graph->event->asked->name ? graph->event->asked->name : "events", NULL,
		  0);
	fprintf(graph->file, "event: %s : %s\nevents: %s\n", unit, strbuf_str(&name), unit);
}

static void put_header(struct graph *graph, const struct view *view)
{
	const struct record_run *run = model_run(view_model(view));
	size_t n = view_n_programs(view);
	FILE *file = graph->file;

	fputs("# callgrind format\nversion: 1\n", file);
	if (run) {
		_cleanup_strbuf_ struct strbuf tool = { 0 };

		escape_text(&tool, run->tool);
		fprintf(file, "creator: %s\n", strbuf_str(&tool));
	}
	if (n > 0) {
		const struct view_process *process = view_process(view, 0);
		_cleanup_strbuf_ struct strbuf command = { 0 };

		escape_text(&command, one_process_command(view, process));
		if (n > 1)
			strbuf_addf(&command, " and %zu more process%s", n - 1, n == 2 ? "" : "es");
		fprintf(file, "pid: %" PRIu32 "\ncmd: %s\n", process->image->pid,
			strbuf_str(&command));
	}
	fprintf(file, "desc: Totals: %s\n", coverage_state_name(coverage_state(view)));
	/* Not in the names of events alone, which callgrind_annotate does not show. */
	if (n > 1 && !graph->event)
		fputs("desc: Peaks: of each process at its own time, so that sums are of no "
		      "moment\n",
		      file);
	fputs("positions: line\n", file);
	if (graph->event) {
		put_event_name(graph);
	} else {
		const struct sample_cost_list *list = &graph->list;

		for (size_t i = 0; i < list->n; i++)
			fprintf(file, "event: %s : %s\n", sample_cost_types[list->costs[i]].id,
				sample_cost_name(view, list->costs[i]));
		fputs("events:", file);
		for (size_t i = 0; i < list->n; i++)
			fprintf(file, " %s", sample_cost_types[list->costs[i]].id);
		fputc('\n', file);
	}
	fputs("summary:", file);
	put_costs(graph, graph->calls.totals);
}

static int write_graph(struct graph *graph, const struct view *view)
{
	int r = samples_of_classes(view, add_stack, graph);

	if (r < 0)
		return r;
	put_header(graph, view);
	r = call_graph_walk(&graph->calls, put_entry, graph);
	if (r < 0)
		return r;
	fputs("\ntotals:", graph->file);
	put_costs(graph, graph->calls.totals);
	return ferror(graph->file) ? -EIO : 0;
}

int callgrind_write(const struct view *view, FILE *file)
{
	struct graph graph = { .file = file, .function = SIZE_MAX };
	int r;

	if (!view_job(view, &graph.event))
		return 0;
	graph.list = sample_cost_list(view);
	graph.calls.n_costs = graph.event ? 1 : SAMPLE_COSTS;
	r = write_graph(&graph, view);
	call_graph_done(&graph.calls);
	sample_frames_done(&graph.frames);
	vec_done(&graph.named);
	return r;
}
