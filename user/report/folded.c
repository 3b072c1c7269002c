/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collapsed stacks: "comm-pid;main;make_buf;malloc 4096", root first, one line a stack (FORMATS.md
 * 8.2). The count is live bytes, or what the report is sorted by where that is a quantity of its
 * own: bytes at the peak, temporary allocations; of an event's stacks, how often it happened. The
 * kernel's frames end in "_[k]", as collapsers mark them: no collapser comes behind this.
 */
#include "base/hashmap.h"
#include "base/vec.h"
#include "report/text.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct line {
	uint64_t count;
	char stack[];
};

struct folded {
	struct hashmap *by_stack;
	VEC(struct line *) lines;
	VEC(struct view_frame) frames; /* of the stack at hand */
	struct strbuf text;
};

static uint64_t line_hash(const void *item)
{
	const struct line *line = item;

	return hash_bytes(line->stack, strlen(line->stack), 0);
}

static bool line_equal(const void *item_a, const void *item_b)
{
	const struct line *a = item_a, *b = item_b;

	return strcmp(a->stack, b->stack) == 0;
}

static const struct hashmap_ops line_ops = {
	.hash = line_hash,
	.equal = line_equal,
	.free_item = free,
};

/* A separator would make two frames of one, a space a second column of it. */
static void add_name(struct strbuf *out, const char *name)
{
	static const struct text_swap swaps[] = { { ';', ':' } };

	text_word(out, name, swaps, 1);
}

static void add_frame(struct strbuf *out, const struct view_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	view_frame_name(frame, &name);
	strbuf_addch(out, ';');
	add_name(out, strbuf_str(&name));
	if (frame->place->mapped && model_object_is_kernel(frame->place->mapped))
		strbuf_adds(out, "_[k]");
	if (strbuf_error(&name) < 0)
		out->error = strbuf_error(&name);
}

static int stack_text(struct folded *folded, const struct model_process *image,
		      const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;
	int r = 0;

	strbuf_reset(&folded->text);
	add_name(&folded->text, *image->comm ? image->comm : "unknown");
	strbuf_addf(&folded->text, "-%" PRIu32, image->pid);
	folded->frames.len = 0;
	while (r == 0 && view_frames_next(&it, &frame))
		r = vec_push(&folded->frames, frame);
	if (stack->truncated)
		strbuf_adds(&folded->text, ";[truncated]");
	else if (stack->lost)
		strbuf_adds(&folded->text, ";[stack-lost]");
	for (size_t i = folded->frames.len; i > 0; i--)
		add_frame(&folded->text, &folded->frames.data[i - 1]);
	if (stack->kernel_lost)
		strbuf_adds(&folded->text, ";[stack-lost]_[k]");
	return r < 0 ? r : strbuf_error(&folded->text);
}

/* The line of folded->text, made when it is new. */
static int find_line(struct folded *folded, struct line **ret_line)
{
	size_t size = folded->text.len + 1;
	_cleanup_free_ struct line *line = malloc(sizeof(*line) + size);
	int r;

	if (!line)
		return -ENOMEM;
	line->count = 0;
	memcpy(line->stack, strbuf_str(&folded->text), size);
	*ret_line = hashmap_find(folded->by_stack, line);
	if (*ret_line)
		return 0;
	r = vec_reserve(&folded->lines, folded->lines.len + 1);
	if (r == 0)
		r = hashmap_insert(folded->by_stack, line);
	if (r < 0)
		return r;
	folded->lines.data[folded->lines.len++] = line;
	*ret_line = TAKE_PTR(line);
	return 0;
}

static int add_stack(struct folded *folded, const struct model_process *image,
		     const struct view_stack *stack, uint64_t count)
{
	struct line *line;
	int r = stack_text(folded, image, stack);

	if (r == 0)
		r = find_line(folded, &line);
	if (r == 0)
		line->count += count;
	return r;
}

static int add_sites(struct folded *folded, const struct view *view)
{
	enum option_sort value = view_site_quantity(view_opts(view)->sort);
	int r = 0;

	for (size_t i = 0; i < view_n_processes(view); i++) {
		const struct view_process *process = view_process(view, i);

		for (size_t j = 0; r == 0 && j < process->n_sites; j++) {
			int64_t count = view_site_weight(&process->sites[j], value);

			if (count > 0)
				r = add_stack(folded, process->image, &process->sites[j].stack,
					      (uint64_t)count);
		}
	}
	return r;
}

static int add_event(struct folded *folded, const struct view_event *event)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < event->n_stacks; i++)
		r = add_stack(folded, event->stacks[i].image, &event->stacks[i].stack,
			      event->stacks[i].count);
	return r;
}

int folded_write(const struct view *view, FILE *file)
{
	const struct view_event *event;
	struct folded folded = { 0 };
	int r;

	if (!view_job(view, &event))
		return 0;
	r = hashmap_new(&line_ops, &folded.by_stack);
	if (r == 0)
		r = event ? add_event(&folded, event) : add_sites(&folded, view);
	if (r == 0)
		vec_foreach(&folded.lines, line)
			fprintf(file, "%s %" PRIu64 "\n", (*line)->stack, (*line)->count);
	hashmap_free(folded.by_stack);
	vec_done(&folded.lines);
	vec_done(&folded.frames);
	strbuf_done(&folded.text);
	return r == 0 && ferror(file) ? -EIO : r;
}
