/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams that compress what is written to them as the name of their file says: readers that go by
 * the name take nothing else; and one gzip member, for formats that are packed always. gzip's are
 * without names and times, so that equal input gives equal output. For writers.
 */
#ifndef MEMTRACED_REPORT_PACKED_OUT_H
#define MEMTRACED_REPORT_PACKED_OUT_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdio.h>

/*
 * A stream onto `file`, for a path that ends in .gz or .zst; *ret_stream is NULL for others, which
 * are written as they are. To be closed before the file, which keeps the errors of writing. 0 or
 * -ENOMEM.
 */
int packed_out_open(const char *path, FILE *file, FILE **ret_stream);

struct gzip_out;

/* Writes to the stream as it comes. 0 or -ENOMEM. */
int gzip_out_new(FILE *file, struct gzip_out **ret_out);
/* Without gzip_out_end the output is incomplete. NULL is legal. */
void gzip_out_free(struct gzip_out *out);
DEFINE_CLEANUP(struct gzip_out, gzip_out_free)

void gzip_out_add(struct gzip_out *out, const void *data, size_t len);

/* To be called once, at the end; errors of the stream stay with the stream. */
void gzip_out_end(struct gzip_out *out);

#endif
