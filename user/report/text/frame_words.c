/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/frame_words.h"

#include "report/text/text.h"

#include <inttypes.h>

void frame_words(const struct view_frame *frame, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	view_frame_name(frame, &name);
	escape_text(out, strbuf_str(&name));
	if (frame->file) {
		strbuf_adds(out, " (");
		escape_text(out, text_base_name(frame->file));
		strbuf_addf(out, ":%" PRIu32 ")", frame->line);
	}
}
