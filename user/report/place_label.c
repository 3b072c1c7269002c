/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/place_label.h"

#include "analyze/valgrind_names.h"
#include "base/escape.h"
#include "report/text/text.h"

#include <inttypes.h>

void place_label(struct strbuf *out, const struct sample_frame *frame)
{
	const struct view_place *place = frame->frame.place;
	const char *function = frame->frame.function;

	if (frame->mark) {
		strbuf_addf(out, "0x0: %s", frame->mark);
		return;
	}
	strbuf_addf(out, "0x%" PRIX64 ": ",
		    (place->has_addr ? place->addr : place->vaddr) - (place->is_call ? 1 : 0));
	escape_text(out, function && *function ? function : "???");
	if (frame->frame.file) {
		strbuf_adds(out, " (");
		escape_text(out, text_base_name(frame->frame.file));
		strbuf_addf(out, ":%" PRIu32 ")", frame->frame.line);
	} else if (place->object && *place->object) {
		strbuf_adds(out, " (in ");
		escape_text(out, place->object);
		strbuf_addch(out, ')');
	}
}

bool place_is_allocator(const struct sample_frame *frame)
{
	const struct suppression_frame named = { .function = frame->frame.function,
						 .linkage = frame->frame.linkage };

	return !frame->mark && (frame->frame.place->alloc || alloc_frames_is_allocator(&named));
}
