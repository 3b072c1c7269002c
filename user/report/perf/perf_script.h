/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf-script text of an event as it happens: each occurrence with its own time, thread and CPU.
 * What a stack resolves to is looked up once, so that a hundred thousand events a second are no
 * problem. One thread.
 */
#ifndef MEMTRACED_REPORT_PERF_PERF_SCRIPT_H
#define MEMTRACED_REPORT_PERF_PERF_SCRIPT_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "model/model.h"
#include "report/view/symbols.h"

#include <stdio.h>

struct perf_script_stream;

/*
 * Of the event with this id. Model, symbols and stream must outlive it; it neither flushes nor
 * closes the stream. 0 or -ENOMEM.
 */
int perf_script_stream_new(const struct model *model, struct symbols *symbols, uint32_t event_id,
			   FILE *file, struct perf_script_stream **ret_stream);
void perf_script_stream_free(struct perf_script_stream *stream); /* NULL is legal */
DEFINE_CLEANUP(struct perf_script_stream, perf_script_stream_free)

/*
 * Writes an occurrence of its event; others are ignored. To be called after the model took the
 * records before it. 0, -ENOMEM, or -EIO when the stream took not all.
 */
int perf_script_stream_add(struct perf_script_stream *stream,
			   const struct record_occurrence *occurrence);

#endif
