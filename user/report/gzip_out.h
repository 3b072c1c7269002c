/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One gzip member written to a stream as it comes, by zlib: without names and times, so that equal
 * input gives equal output. For writers.
 */
#ifndef MEMTRACED_REPORT_GZIP_OUT_H
#define MEMTRACED_REPORT_GZIP_OUT_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdio.h>

struct gzip_out;

/* 0 or -ENOMEM. */
int gzip_out_new(FILE *file, struct gzip_out **ret_out);
/* Without gzip_out_end the output is incomplete. NULL is legal. */
void gzip_out_free(struct gzip_out *out);
DEFINE_CLEANUP(struct gzip_out, gzip_out_free)

void gzip_out_add(struct gzip_out *out, const void *data, size_t len);

/* To be called once, at the end; errors of the stream stay with the stream. */
void gzip_out_end(struct gzip_out *out);

#endif
