/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of an event in the text that `perf script` prints, as FORMATS.md section 1 says, whose
 * traps are why names are changed here. Addresses are the objects' own, so that frames of different
 * runs are the same and addr2line takes them.
 */
#ifndef MEMTRACED_REPORT_PERF_PERF_SCRIPT_H
#define MEMTRACED_REPORT_PERF_PERF_SCRIPT_H

#include "base/strbuf.h"
#include "report/view/view_stack.h"

/* At least two characters, none of which a reader takes for something else. */
void perf_text_comm(struct strbuf *out, const char *comm);

/* The name of an event, without its category: no colon, where one client would cut it. */
void perf_text_event(struct strbuf *out, const char *name);

/* The lines of a stack's frames, at least one, and the empty line that ends an event. */
void perf_text_stack(struct strbuf *out, const struct view_stack *stack);

#endif
