// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_forms.h"

/* On the stack that was walked; more than 1: another function is between. -1: it is over. */
static int depth_of(const struct walker *w, const struct book_mark_place *place)
{
	const struct walk_frame *frame;

	for (uint32_t i = 0; place->sp && (frame = walk_frame_at(w, i)); i++) {
		if (frame->sp == place->sp && frame->pc == place->pc)
			return (int)i;
		if (frame->sp > place->sp)
			break;
	}
	return -1;
}

/* 0: it has jumped here; 1: it has called. */
static bool has_called(int depth)
{
	return depth == 0 || depth == 1;
}

void book_mark_add(struct book_mark *mark, const struct walker *w, uint32_t form)
{
	const struct walk_frame *caller = walk_frame_at(w, 0);
	int depth = mark->form ? depth_of(w, &mark->at) : -1;

	if (has_called(depth))
		form = mark->form;
	else if (depth >= 0)
		mark->hidden = mark->at;
	mark->form = form;
	mark->is_known = true;
	mark->at = (struct book_mark_place){ caller ? caller->sp : 0, caller ? caller->pc : 0 };
}

uint32_t book_mark_form(struct book_mark *mark, const struct walker *w, bool whole_life)
{
	int depth = mark->form ? depth_of(w, &mark->at) : -1;

	if (depth >= 0)
		return has_called(depth) ? mark->form : ABI_FORM_UNKNOWN;
	if (!mark->is_known && !whole_life) {
		mark->is_known = true;
		return ABI_FORM_UNKNOWN;
	}
	if (depth_of(w, &mark->hidden) >= 0)
		return ABI_FORM_UNKNOWN;
	mark->hidden.sp = 0;
	return ABI_FORM_OWN;
}

void book_mark_used(struct book_mark *mark, uint32_t form)
{
	if (form != ABI_FORM_UNKNOWN)
		mark->form = ABI_FORM_OWN;
}

/* Bits as of ABI_FORMS; 0: not known. */
static uint32_t forms_of(uint32_t form, uint32_t function)
{
	if (form == ABI_FORM_UNKNOWN)
		return 0;
	if (form != ABI_FORM_OWN)
		return 1U << form;
	if (function == ABI_BOOK_NEW || function == ABI_BOOK_DELETE)
		return 1U << ABI_FORM_NEW;
	if (function == ABI_BOOK_NEW_ARRAY || function == ABI_BOOK_DELETE_ARRAY)
		return 1U << ABI_FORM_ARRAY;
	return ABI_FORM_C;
}

bool book_is_mismatched(uint32_t made, uint32_t made_by, uint32_t taken, uint32_t taken_by)
{
	uint32_t makes = forms_of(made, made_by), takes = forms_of(taken, taken_by);

	return makes && takes && !(makes & takes);
}
