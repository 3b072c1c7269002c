/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Standard output as a stream that knows why a write failed: a closed pipe is no error to log.
 */
#ifndef MEMTRACED_SERVICE_STDOUT_STREAM_H
#define MEMTRACED_SERVICE_STDOUT_STREAM_H

#include "base/cleanup.h"

#include <stdio.h>

struct stdout_stream;

/* 0 or -ENOMEM. */
int stdout_stream_new(struct stdout_stream **ret_stream);
/* Without a flush before, what is not written yet is dropped. NULL is legal. */
void stdout_stream_free(struct stdout_stream *stream);
DEFINE_CLEANUP(struct stdout_stream, stdout_stream_free)

/* Belongs to the stream; written in pieces of 64 KiB, or as flushed. */
FILE *stdout_stream_file(struct stdout_stream *stream);

/* 0 or the negative errno of the first write that failed. */
int stdout_stream_flush(struct stdout_stream *stream);

#endif
