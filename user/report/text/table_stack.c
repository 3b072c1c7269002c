/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack in a report for people: a line a frame, and what is not known of it. */
#include "report/text/table_out.h"

#include <inttypes.h>

/* Where a frame is: its source line, or its object when that is not known. */
static void frame_where(const struct table *t, const struct view_frame *frame, struct strbuf *out)
{
	const char *object = frame->place->object;

	if (frame->file) {
		strbuf_addf(out, "  %s", text_base_name(frame->file));
		if (frame->line > 0 && !t->no_lines)
			strbuf_addf(out, ":%" PRIu32, frame->line);
	} else if (object && frame->function) {
		strbuf_addf(out, "  (%s)", text_base_name(object));
	}
	if (frame->is_inline)
		strbuf_adds(out, " [inlined]");
}

static void frame_line(struct table *t, const struct view_frame *frame)
{
	_cleanup_strbuf_ struct strbuf name = { 0 }, where = { 0 };
	const struct view_place *place = frame->place;
	size_t width = view_opts(t->view)->width - 6, where_width;

	frame_where(t, frame, &where);
	if (frame->function)
		strbuf_adds(&name, frame->function);
	else if (place->object && !(place->mapped && model_object_is_kernel(place->mapped)))
		strbuf_addf(&name, "%s+0x%" PRIx64, place->object, place->offset);
	else
		strbuf_addf(&name, "0x%" PRIx64, place->addr);

	/* The name gives way first, but not below half of the line. */
	where_width = text_columns(strbuf_str(&where));
	if (where_width > width / 2)
		where_width = width / 2;
	strbuf_adds(&t->out, "      ");
	text_fit(&t->out, strbuf_str(&name), width - where_width);
	text_fit(&t->out, strbuf_str(&where), where_width < 3 ? 3 : where_width);
	strbuf_addch(&t->out, '\n');
	if (strbuf_error(&name) < 0 || strbuf_error(&where) < 0)
		t->out.error = strbuf_error(&name) < 0 ? strbuf_error(&name) : strbuf_error(&where);
}

void table_stack(struct table *t, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;

	if (stack->kernel_lost)
		strbuf_adds(&t->out, "      (the kernel's stack was lost)\n");
	while (view_frames_next(&it, &frame))
		frame_line(t, &frame);
	if (stack->lost)
		strbuf_adds(&t->out, "      (the stack was lost)\n");
	else if (stack->truncated)
		strbuf_adds(&t->out, "      (the stack goes on: it was truncated)\n");
	else if (stack->n_places == 0 && !stack->kernel_lost)
		strbuf_adds(&t->out, "      (no frames)\n");
}
