/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as Valgrind's files have them: "0x4842524: main (prog.c:12)". For writers of its formats.
 */
#ifndef MEMTRACED_REPORT_PLACE_LABEL_H
#define MEMTRACED_REPORT_PLACE_LABEL_H

#include "report/samples.h"

/* Appends it; "???" for a function without a name, address 0 for a mark. */
void place_label(struct strbuf *out, const struct sample_frame *frame);

/*
 * Is it malloc, or operator new above it? Valgrind's tools leave out the functions that they have
 * replaced.
 */
bool place_is_allocator(const struct sample_frame *frame);

#endif
