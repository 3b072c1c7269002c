/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outputs that get each event as it happens (--each): one stream an output and event, to a file
 * that appears whole at the end, or to standard output.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_EVENT_STREAMS_H
#define MEMTRACED_SERVICE_OUTPUT_EVENT_STREAMS_H

#include "base/cleanup.h"
#include "model/model.h"
#include "report/view/symbols.h"

struct event_streams;
struct output_file;
struct stdout_queue;

/* Model and symbols must outlive the streams. 0 or -ENOMEM. */
int event_streams_new(const struct model *model, struct symbols *symbols,
		      struct event_streams **ret_streams);
/* Files that were not finished do not appear. NULL is legal. */
void event_streams_free(struct event_streams *streams);
DEFINE_CLEANUP(struct event_streams, event_streams_free)

/*
 * From now on the event goes to the file, which then belongs to the streams, also on an error; NULL
 * is standard output, by the queue if that is not NULL. 0 or -ENOMEM.
 */
int event_streams_add(struct event_streams *streams, uint32_t event_id, struct output_file *file,
		      struct stdout_queue *queue);

/* Writes an occurrence where it goes. 0 or -ENOMEM: what was not written the next calls say. */
int event_streams_write(struct event_streams *streams, const struct record_occurrence *occurrence);

/* What was taken reaches standard output. 0 or negative errno, again and again. */
int event_streams_flush(struct event_streams *streams);

/* Flushes; files appear. To be called once. 0 or the first error. */
int event_streams_finish(struct event_streams *streams);

#endif
