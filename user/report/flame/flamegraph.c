/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph: live bytes, or what the report is sorted by where that is a quantity of its own;
 * of an event, how often it happened. A root for each process.
 */
#include "report/flame/flamegraph.h"

#include "base/hashmap.h"
#include "base/strbuf.h"
#include "config/units.h"
#include "report/samples.h"
#include "report/text/coverage_words.h"
#include "report/text/text.h"
#include "report/view/view_counts.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- the picture ------------------------------------------------------------------------------ */

/* In pixels of the picture's own; flamegraph.js has the same. */
#define WIDTH 1200
#define LEFT 10
#define ROW 17
#define TOP 74
#define BOTTOM 34
#define CHAR_WIDTH 7.1
/* What is narrower is not drawn, so that the file's size does not depend on the run's. */
#define NARROWEST 0.1

static const char script[] =
#include "flamegraph_js.h"
	;

static const char style[] =
	"text{font:12px Verdana,DejaVu Sans,sans-serif;fill:#000}"
	"#title{font-size:17px;text-anchor:middle}"
	"#remark{text-anchor:middle;fill:#555}"
	"#frames text{pointer-events:none}"
	".live #frames g{cursor:pointer}"
	"#frames g:hover rect{stroke:#000;stroke-width:.7}"
	".below{opacity:.5}.away{display:none}"
	"#frames .found rect{fill:#e060e0}"
	".button{fill:#06c;cursor:pointer}svg:not(.live) .button,svg:not(.live) foreignObject"
	"{display:none}"
	"input{font:12px Verdana,DejaVu Sans,sans-serif;width:180px;box-sizing:border-box;"
	"border:1px solid #999}"
	"input.wrong{border-color:#d00}"
	"#found{text-anchor:end}";

struct drawing {
	const struct flame *flame;
	FILE *file;
	unsigned int side;
	uint64_t total, most_changed;
	size_t rows, left_out;
	struct strbuf text;
};

static uint64_t value_of(const struct drawing *d, const struct path_node *node)
{
	return node->values[d->side];
}

/* The root stands for all and is always drawn. */
static bool is_drawn(const struct drawing *d, const struct path_node *node)
{
	double share;

	if (node->depth == 0)
		return true;
	if (d->total == 0)
		return false;
	share = (double)value_of(d, node) / (double)d->total;
	return value_of(d, node) > 0 && share * (WIDTH - 2 * LEFT) >= NARROWEST;
}

static uint64_t changed(const struct path_node *node)
{
	return node->values[0] > node->values[1] ? node->values[0] - node->values[1] :
						   node->values[1] - node->values[0];
}

static int find_total(const struct path_node *node, void *userdata)
{
	struct drawing *d = userdata;

	if (node->depth == 0)
		d->total = value_of(d, node);
	if (changed(node) > d->most_changed)
		d->most_changed = changed(node);
	return 0;
}

static int find_size(const struct path_node *node, void *userdata)
{
	struct drawing *d = userdata;

	if (!is_drawn(d, node))
		d->left_out += value_of(d, node) > 0;
	else if (node->depth + 1 > d->rows)
		d->rows = node->depth + 1;
	return 0;
}

/* A function has the same colour wherever it stands: greens for memory, else oranges. */
static void add_plain_colour(const struct drawing *d, const struct path_node *node)
{
	uint64_t hash = hash_bytes(node->name, strlen(node->name), 0);
	unsigned int shade = (unsigned int)(hash % 41), lean = (unsigned int)(hash / 41 % 51);

	if (node->kind == PATH_MARK)
		fputs("#c8c8c8", d->file);
	else if (node->depth == 0)
		fputs("#e4e4e4", d->file);
	else if (d->flame->is_event)
		fprintf(d->file, "hsl(%u,85%%,%u%%)", 25 + lean / 2, 58 + shade / 3);
	else if (node->kind == PATH_KERNEL)
		fprintf(d->file, "hsl(%u,60%%,%u%%)", 30 + lean / 4, 65 + shade / 3);
	else
		fprintf(d->file, "hsl(%u,55%%,%u%%)", 95 + lean, 58 + shade / 2);
}

/* More is red, less blue, the more so the greater the difference; the same is white. */
static void add_change_colour(const struct drawing *d, const struct path_node *node)
{
	double share = d->most_changed ? (double)changed(node) / (double)d->most_changed : 0;
	unsigned int rest = (unsigned int)(240 - 150 * share);

	if (node->values[1] > node->values[0])
		fprintf(d->file, "rgb(255,%u,%u)", rest, rest);
	else if (node->values[1] < node->values[0])
		fprintf(d->file, "rgb(%u,%u,255)", rest, rest);
	else
		fputs("#f4f4f4", d->file);
}

static void put_title(struct drawing *d, const struct path_node *node)
{
	uint64_t value = value_of(d, node);
	double share = d->total ? 100 * (double)value / (double)d->total : 0;
	char size[FORMAT_UNIT_LEN];

	strbuf_reset(&d->text);
	text_xml(&d->text, node->name);
	strbuf_adds(&d->text, " (");
	text_grouped(&d->text, value);
	strbuf_addf(&d->text, " %s, ", d->flame->unit);
	if (d->flame->pages)
		strbuf_addf(&d->text, "~%s, ",
			    format_size((int64_t)view_event_bytes(d->flame->pages, value), size));
	strbuf_addf(&d->text, "%.2f %%", share);
	if (d->flame->is_diff) {
		strbuf_adds(&d->text, node->values[1] >= node->values[0] ? "; +" : "; -");
		text_grouped(&d->text, changed(node));
	}
	fprintf(d->file, "<title>%s)</title>", strbuf_str(&d->text));
}

static void put_label(struct drawing *d, const struct path_node *node, double x, double width,
		      size_t y)
{
	_cleanup_strbuf_ struct strbuf fitting = { 0 };
	double room = (width - 6) / CHAR_WIDTH;

	if (room < 3)
		return;
	text_fit(&fitting, node->name, (size_t)room);
	strbuf_reset(&d->text);
	text_xml(&d->text, strbuf_str(&fitting));
	strbuf_pass_error(&d->text, &fitting);
	fprintf(d->file, "<text x=\"%.2f\" y=\"%zu\">%s</text>", x + 3, y + 12,
		strbuf_str(&d->text));
}

static int put_frame(const struct path_node *node, void *userdata)
{
	struct drawing *d = userdata;
	double scale = d->total ? (WIDTH - 2 * LEFT) / (double)d->total : 0;
	double x = LEFT + (double)node->start * scale;
	double width = d->total ? (double)value_of(d, node) * scale : WIDTH - 2 * LEFT;
	size_t y = TOP + (d->rows - 1 - node->depth) * ROW;

	if (!is_drawn(d, node))
		return 0;
	fprintf(d->file, "<g data-s=\"%" PRIu64 "\" data-v=\"%" PRIu64 "\" data-d=\"%zu\">",
		node->start, value_of(d, node), node->depth);
	put_title(d, node);
	fprintf(d->file, "<rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" rx=\"1\" fill=\"",
		x, y, width > 0.5 ? width - 0.4 : 0.1, ROW - 1);
	if (d->flame->is_diff)
		add_change_colour(d, node);
	else
		add_plain_colour(d, node);
	fputs("\"/>", d->file);
	put_label(d, node, x, width, y);
	fputs("</g>\n", d->file);
	return strbuf_error(&d->text);
}

static void put_text(struct drawing *d, const char *id, int x, int y, const char *text)
{
	strbuf_reset(&d->text);
	text_xml(&d->text, text);
	fprintf(d->file, "<text id=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", id, x, y,
		strbuf_str(&d->text));
}

static void put_head(struct drawing *d)
{
	size_t height = TOP + d->rows * ROW + BOTTOM;

	strbuf_reset(&d->text);
	text_xml(&d->text, d->flame->title);
	fprintf(d->file,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\" data-top=\"%d\" data-rows=\"%zu\" data-unit=\"%s\" "
		"aria-labelledby=\"name\">\n"
		"<title id=\"name\">%s</title>\n<style>%s</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		WIDTH, height, WIDTH, height, TOP, d->rows, d->flame->unit, strbuf_str(&d->text),
		style);
	put_text(d, "title", WIDTH / 2, 24, d->flame->title);
}

static void put_remark(struct drawing *d)
{
	_cleanup_strbuf_ struct strbuf remark = { 0 };

	strbuf_adds(&remark, d->flame->remark);
	if (d->left_out > 0)
		strbuf_addf(&remark, "%s%zu frame%s narrower than a tenth of a pixel not drawn",
			    remark.len > 0 ? "; " : "", d->left_out, d->left_out == 1 ? "" : "s");
	put_text(d, "remark", WIDTH / 2, 43, strbuf_str(&remark));
	strbuf_pass_error(&d->text, &remark);
}

/* What only works with the script. */
static void put_controls(struct drawing *d)
{
	fprintf(d->file,
		"<foreignObject x=\"%d\" y=\"50\" width=\"190\" height=\"24\">"
		"<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"search\" "
		"aria-label=\"search\" placeholder=\"search (/)\"/>"
		"</foreignObject>\n"
		"<text id=\"turn\" class=\"button\" x=\"%d\" y=\"65\">upside down</text>\n"
		"<text id=\"reset\" class=\"button away\" x=\"%d\" y=\"65\">reset zoom</text>\n",
		LEFT, LEFT + 200, LEFT + 290);
	put_text(d, "found", WIDTH - LEFT, 65, "");
	put_text(d, "details", LEFT, (int)(TOP + d->rows * ROW + 20), "");
}

static int draw_flames(struct drawing *d, struct stack_paths *paths)
{
	int r = stack_paths_walk(paths, d->side, find_total, d);

	if (r == 0)
		r = stack_paths_walk(paths, d->side, find_size, d);
	if (r < 0)
		return r;
	put_head(d);
	put_remark(d);
	put_controls(d);
	fputs("<g id=\"frames\">\n", d->file);
	r = stack_paths_walk(paths, d->side, put_frame, d);
	fputs("</g>\n<script><![CDATA[\n", d->file);
	fputs(script, d->file);
	fputs("]]></script>\n</svg>\n", d->file);
	return r < 0 ? r : strbuf_error(&d->text);
}

int flamegraph_draw(const struct flame *flame, struct stack_paths *paths, FILE *file)
{
	struct drawing d = { .flame = flame,
			     .file = file,
			     .side = flame->is_diff && !flame->by_before };
	int r = draw_flames(&d, paths);

	strbuf_done(&d.text);
	return r == 0 && ferror(file) ? -EIO : r;
}

/* --- its stacks ------------------------------------------------------------------------------- */

static int push_name(struct flame_stacks *stacks, enum path_kind kind, const char *name)
{
	strbuf_reset(&stacks->name);
	escape_text(&stacks->name, name);
	if (strbuf_error(&stacks->name) < 0)
		return strbuf_error(&stacks->name);
	return stack_paths_push(&stacks->paths, kind, strbuf_str(&stacks->name));
}

static int push_frame(struct flame_stacks *stacks, const struct sample_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	enum path_kind kind = frame->mark ? PATH_MARK : PATH_FRAME;
	int r = 1;

	if (stacks->name_frame)
		r = stacks->name_frame(frame, stacks->userdata, &name);
	else
		sample_frame_name(frame, &name);
	if (!stacks->name_frame && frame->is_kernel && !frame->mark)
		kind = PATH_KERNEL;
	if (r <= 0 || strbuf_error(&name) < 0)
		return r < 0 ? r : strbuf_error(&name);
	return push_name(stacks, kind, strbuf_str(&name));
}

int flame_stacks_add(struct flame_stacks *stacks, unsigned int side, uint64_t value,
		     const char *root, const struct view_stack *stack)
{
	int r = value > 0 ? stack_paths_begin(&stacks->paths, side, value) : 0;

	if (value == 0)
		return 0;
	if (r == 0)
		r = push_name(stacks, PATH_PROCESS, root);
	if (r == 0)
		r = sample_frames_fill(&stacks->frames, stack);
	for (size_t i = stacks->frames.list.len; r == 0 && i > 0; i--)
		r = push_frame(stacks, &stacks->frames.list.data[i - 1]);
	return r;
}

void flame_stacks_done(struct flame_stacks *stacks)
{
	stack_paths_done(&stacks->paths);
	sample_frames_done(&stacks->frames);
	strbuf_done(&stacks->name);
}

struct adding {
	struct flame_stacks *stacks;
	enum option_sort sort;
};

/* A root for each process. */
static int add_sample(const struct sample *sample, void *userdata)
{
	const struct model_process *image = sample->image;
	struct adding *adding = userdata;
	_cleanup_strbuf_ struct strbuf root = { 0 };

	strbuf_addf(&root, "%s-%" PRIu32, *image->comm ? image->comm : "unknown", image->pid);
	if (strbuf_error(&root) < 0)
		return strbuf_error(&root);
	return flame_stacks_add(adding->stacks, 0, sample_weight(sample, adding->sort),
				strbuf_str(&root), sample->stack);
}

void flamegraph_title(const struct view *view, struct strbuf *out)
{
	const struct view_event *event;
	size_t n = view_n_programs(view);

	if (!view_job(view, &event))
		return;
	escape_text(out, sample_what(event, view_class_shown(view), view_opts(view)->sort));
	if (n > 1 && !view_process(view, 0)->image->root) {
		/* Of a host or a cgroup, where the first is one of many. */
		strbuf_addf(out, " of %zu processes", n);
	} else if (n > 0) {
		const struct model_process *image = view_process(view, 0)->image;

		strbuf_adds(out, " of ");
		escape_text(out, *image->comm ? image->comm : "unknown");
		strbuf_addf(out, " (pid %" PRIu32 ")", image->pid);
		if (n > 1)
			strbuf_addf(out, " and %zu more process%s", n - 1, n == 2 ? "" : "es");
	}
}

/* What is to be known of the values. */
static void add_remark(const struct view *view, const struct view_event *event, struct strbuf *out)
{
	enum coverage_state state = coverage_state(view);

	/* That an event was sampled is in its unit, or said below. */
	if (state != COVERAGE_EXACT && !(event && state == COVERAGE_ESTIMATES))
		strbuf_adds(out, coverage_state_name(state));
	if (sample_peaks_differ(view, view_opts(view)->sort))
		strbuf_addf(out, "%speaks are " SAMPLE_PEAKS_DIFFER, out->len > 0 ? "; " : "");
	if (!event || !event->asked->page_bytes)
		return;
	strbuf_adds(out, out->len > 0 ? "; " : "");
	if (view_event_sampled(event))
		strbuf_addf(out, "one page fault in %s%" PRIu64 " was sampled; ",
			    event->asked->adapts ? "1 to " : "", event->interval);
	strbuf_adds(out, "bytes are right if all pages are small");
}

int flamegraph_write(const struct view *view, FILE *file)
{
	_cleanup_(flame_stacks_done) struct flame_stacks stacks = { 0 };
	struct adding adding = { &stacks, view_opts(view)->sort };
	_cleanup_strbuf_ struct strbuf title = { 0 }, remark = { 0 };
	const struct view_event *event;
	struct flame flame = { 0 };
	int r;

	if (!view_job(view, &event))
		return 0;
	flamegraph_title(view, &title);
	add_remark(view, event, &remark);
	flame.title = strbuf_str(&title);
	flame.remark = strbuf_str(&remark);
	flame.pages = event && event->asked->page_bytes ? event : NULL;
	flame.unit = sample_unit(event, view_opts(view)->sort);
	flame.is_event = event != NULL;
	r = strbuf_error(&title) ? strbuf_error(&title) : strbuf_error(&remark);
	if (r == 0)
		r = samples_each(view, add_sample, &adding);
	return r < 0 ? r : flamegraph_draw(&flame, &stacks.paths, file);
}
