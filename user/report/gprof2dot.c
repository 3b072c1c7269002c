/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gprof2dot's own JSON, which unlike perf-script text brings it bytes (FORMATS.md 1.6): functions
 * once, and per stack its functions, callee first, with one cost. Written as it comes; the table of
 * functions, which is complete only then, is last.
 */
#include "base/hashmap.h"
#include "base/vec.h"
#include "report/json_out.h"
#include "report/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct function {
	size_t index;
	const char *module; /* in `text`, behind the name; "": none */
	char text[];
};

struct graph {
	struct json_out out;
	struct hashmap *by_name;
	VEC(const struct function *) functions;
	VEC(size_t) chain; /* of the stack at hand */
	bool any;	   /* an event was written */
};

static uint64_t function_hash(const void *item)
{
	const struct function *f = item;

	return hash_bytes(f->text, strlen(f->text), hash_bytes(f->module, strlen(f->module), 0));
}

static bool function_equal(const void *item_a, const void *item_b)
{
	const struct function *a = item_a, *b = item_b;

	return strcmp(a->text, b->text) == 0 && strcmp(a->module, b->module) == 0;
}

static const struct hashmap_ops function_ops = { function_hash, function_equal, free };

static struct function *function_new(const char *name, const char *module)
{
	size_t name_len = strlen(name), module_len = strlen(module);
	struct function *f = malloc(sizeof(*f) + name_len + module_len + 2);

	if (!f)
		return NULL;
	memcpy(f->text, name, name_len + 1);
	memcpy(f->text + name_len + 1, module, module_len + 1);
	f->module = f->text + name_len + 1;
	return f;
}

/* The function of that name becomes the next one in the chain. */
static int push(struct graph *graph, const char *name, const char *module)
{
	_cleanup_free_ struct function *f = function_new(name, module);
	const struct function *known;
	int r;

	if (!f)
		return -ENOMEM;
	known = hashmap_find(graph->by_name, f);
	if (known)
		return vec_push(&graph->chain, known->index);
	f->index = graph->functions.len;
	r = vec_reserve(&graph->functions, f->index + 1);
	if (r == 0)
		r = hashmap_insert(graph->by_name, f);
	if (r < 0)
		return r;
	known = TAKE_PTR(f);
	graph->functions.data[graph->functions.len++] = known;
	return vec_push(&graph->chain, known->index);
}

static int push_frame(struct graph *graph, const struct view_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	const char *object = frame->place->object;

	view_frame_name(frame, &name);
	if (strbuf_error(&name) < 0)
		return strbuf_error(&name);
	return push(graph, strbuf_str(&name), object ? text_base_name(object) : "");
}

/* The reader takes the first function of a chain without asking whether there is one. */
static int push_stack(struct graph *graph, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;
	int r = 0;

	graph->chain.len = 0;
	if (stack->kernel_lost)
		r = push(graph, "[stack-lost]", "[kernel.kallsyms]");
	while (r == 0 && view_frames_next(&it, &frame))
		r = push_frame(graph, &frame);
	if (r == 0 && stack->lost)
		r = push(graph, "[stack-lost]", "");
	if (r == 0 && graph->chain.len == 0)
		r = push(graph, "[unknown]", "");
	return r;
}

static int add_stack(struct graph *graph, const struct view_stack *stack, uint64_t cost)
{
	FILE *file = graph->out.file;
	int r = push_stack(graph, stack);

	if (r < 0)
		return r;
	fprintf(file, "%s{\"callchain\":[", graph->any ? "," : "");
	for (size_t i = 0; i < graph->chain.len; i++)
		fprintf(file, "%s%zu", i > 0 ? "," : "", graph->chain.data[i]);
	fprintf(file, "],\"cost\":[%" PRIu64 "]}", cost);
	graph->any = true;
	return 0;
}

static int add_sites(struct graph *graph, const struct view *view, enum option_sort value)
{
	int r = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; r == 0 && j < process->n_sites; j++) {
			int64_t cost = view_site_weight(&process->sites[j], value);

			if (cost > 0)
				r = add_stack(graph, &process->sites[j].stack, (uint64_t)cost);
		}
	}
	return r;
}

static int add_event(struct graph *graph, const struct view_event *event)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < event->n_stacks; i++)
		r = add_stack(graph, &event->stacks[i].stack, event->stacks[i].count);
	return r;
}

static void put_string(struct graph *graph, const char *s)
{
	json_out_put(&graph->out, json_out_new_string(&graph->out, s));
}

static void put_functions(struct graph *graph)
{
	FILE *file = graph->out.file;

	vec_foreach(&graph->functions, f) {
		fputs(f == graph->functions.data ? "{\"name\":" : ",{\"name\":", file);
		put_string(graph, (*f)->text);
		if (*(*f)->module) {
			fputs(",\"module\":", file);
			put_string(graph, (*f)->module);
		}
		fputc('}', file);
	}
}

static int write_graph(struct graph *graph, const struct view *view, const struct view_event *event)
{
	enum option_sort value = view_site_quantity(view_opts(view)->sort);
	FILE *file = graph->out.file;
	int r;

	fputs("{\"version\":0,\"costs\":[{\"description\":", file);
	if (event)
		put_string(graph, event->asked->name);
	else
		put_string(graph, value == SORT_TEMPORARY ? "Temporary allocations" :
				  value == SORT_PEAK	  ? "Memory at the peak" :
							    "Memory");
	fprintf(file, ",\"unit\":\"%s\"}],\"events\":[",
		event			? "events" :
		value == SORT_TEMPORARY ? "allocations" :
					  "bytes");
	r = event ? add_event(graph, event) : add_sites(graph, view, value);
	if (r < 0)
		return r;
	fputs("],\"functions\":[", file);
	put_functions(graph);
	fputs("]}\n", file);
	return graph->out.error;
}

int gprof2dot_write(const struct view *view, FILE *file)
{
	struct graph graph = { .out = { .file = file } };
	const struct view_event *event;
	int r;

	if (!view_job(view, &event))
		return 0;
	r = hashmap_new(&function_ops, &graph.by_name);
	if (r == 0)
		r = write_graph(&graph, view, event);
	hashmap_free(graph.by_name);
	vec_done(&graph.functions);
	vec_done(&graph.chain);
	return r == 0 && ferror(file) ? -EIO : r;
}
