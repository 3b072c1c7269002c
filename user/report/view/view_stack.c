/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/view_stack.h"

#include "probe/allocators.h"
#include "report/text/text.h"
#include "symbol/function_name.h"

#include <inttypes.h>
#include <string.h>

const struct view_place *view_stack_place(const struct view_stack *stack, size_t index)
{
	if (!stack->pieces || index < pieces_own(stack->n_places))
		return stack->places[index];
	return (const struct view_place *)(uintptr_t)pieces_word(stack->pieces, stack->n_places,
								 index);
}

/* The probed function goes by the name that it was called by, an alias maybe, at its start. */
static void allocator_frame(const struct view_place *place, struct view_frame *frame)
{
	const struct symbol *symbol = place->symbol;
	const struct symbol_frame *physical = &symbol->frames[symbol->n_frames - 1];

	*frame = (struct view_frame){
		.place = place,
		.function = place->alloc,
		.has_offset = true,
		.file = physical->file,
		.line = physical->line,
	};
}

static bool is_operator(const char *linkage)
{
	return linkage && (!strncmp(linkage, "_Znw", 4) || !strncmp(linkage, "_Zna", 4) ||
			   !strncmp(linkage, "_Zdl", 4) || !strncmp(linkage, "_Zda", 4));
}

static const char *linkage_of(const struct view_place *place)
{
	return place->alloc ? place->alloc :
			      place->symbol->frames[place->symbol->n_frames - 1].linkage;
}

static bool do_the_same(const char *linkage, const char *other)
{
	const struct allocator_function *a = linkage ? allocator_function_find(linkage) : NULL;
	const struct allocator_function *b = allocator_function_find(other);

	return a && b && allocator_returns_block(a) == allocator_returns_block(b);
}

/*
 * The operator new or delete that the program called where place `index` of the stack is: of those
 * that jump on, the stack has only the last. NULL: it is that place's own function, or unknown.
 */
static const struct symbol_callee *callee_at(const struct view_stack *stack, size_t index)
{
	const struct symbol_callee *callee;
	const struct view_place *caller;
	const char *own;

	if (index + 1 >= stack->n_places || !view_stack_place(stack, 0)->alloc)
		return NULL;
	for (size_t i = 1; i <= index; i++)
		if (!is_operator(linkage_of(view_stack_place(stack, i))))
			return NULL;
	caller = view_stack_place(stack, index + 1);
	callee = &caller->symbol->callee;
	own = linkage_of(view_stack_place(stack, index));
	if (!caller->is_call || !is_operator(callee->linkage) || !callee->function ||
	    !do_the_same(own, callee->linkage) || !strcmp(callee->linkage, own))
		return NULL;
	return callee;
}

/* Where the one that was called is in a source is not known. */
static void name_by_call(const struct view_stack *stack, struct view_frame *frame)
{
	const struct symbol_callee *callee = callee_at(stack, frame->index);

	if (!callee)
		return;
	frame->is_called = true;
	frame->function = callee->function;
	frame->linkage = callee->linkage;
	frame->file = NULL;
	frame->line = 0;
}

bool view_frames_next(struct view_frames *frames, struct view_frame *ret_frame)
{
	const struct view_place *place;
	const struct symbol_frame *from;

	if (frames->place >= frames->stack->n_places)
		return false;
	place = view_stack_place(frames->stack, frames->place);
	if (place->alloc) {
		allocator_frame(place, ret_frame);
		ret_frame->index = frames->place++;
		name_by_call(frames->stack, ret_frame);
		return true;
	}

	from = &place->symbol->frames[frames->frame];
	*ret_frame = (struct view_frame){
		.place = place,
		.index = frames->place,
		.function = from->function,
		.linkage = from->linkage,
		.has_offset = from->function || place->object,
		.offset = from->function ? from->offset : place->offset,
		.file = from->file,
		.line = from->line,
		.is_inline = from->is_inline,
		.valgrind = from->valgrind,
		.seen = from->seen,
	};
	if (!from->is_inline)
		name_by_call(frames->stack, ret_frame);
	if (++frames->frame >= place->symbol->n_frames) {
		frames->frame = 0;
		frames->place++;
	}
	return true;
}

bool view_stack_name(const struct view_stack *stack, struct view_frame *ret_frame)
{
	struct view_frames it = { stack, stack->name.place, stack->name.frame };

	return view_frames_next(&it, ret_frame);
}

size_t view_stack_name_index(const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;
	size_t n = 0;

	while ((it.place != stack->name.place || it.frame != stack->name.frame) &&
	       view_frames_next(&it, &frame))
		n++;
	return n;
}

void view_frame_name(const struct view_frame *frame, struct strbuf *out)
{
	const char *object = frame->place->object;

	if (frame->function && *frame->function)
		strbuf_adds(out, frame->function);
	else if (object && *object && *object != '[')
		strbuf_addf(out, "[%s]", text_base_name(object));
	else
		strbuf_adds(out, object && *object ? object : "[unknown]");
}

void view_frame_short_name(const struct view_frame *frame, bool full, struct strbuf *out)
{
	if (full || !frame->function || !*frame->function)
		view_frame_name(frame, out);
	else
		function_name_short(frame->function, out);
}

void view_frame_line_name(const struct view_frame *frame, bool full, struct strbuf *out)
{
	view_frame_short_name(frame, full, out);
	if (frame->file)
		strbuf_addf(out, " (%s:%" PRIu32 ")", text_base_name(frame->file), frame->line);
}

void view_frame_words(const struct view_frame *frame, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	view_frame_line_name(frame, false, &name);
	escape_text(out, strbuf_str(&name));
}
