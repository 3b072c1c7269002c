/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A frame in a sentence, for those who name the place that holds or takes most. Pure.
 */
#ifndef MEMTRACED_REPORT_TEXT_FRAME_WORDS_H
#define MEMTRACED_REPORT_TEXT_FRAME_WORDS_H

#include "base/strbuf.h"
#include "report/view/view.h"

/* Appends "leaks (deaths.c:23)", or what is known of that. */
void frame_words(const struct view_frame *frame, struct strbuf *out);

#endif
