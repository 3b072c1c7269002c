/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an output is written to: a file (base/outfile.h), compressed where its name says so
 * (report/packed_out.h), or standard output; and how its report looks there.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_OUTPUT_FILE_H
#define MEMTRACED_SERVICE_OUTPUT_OUTPUT_FILE_H

#include "base/cleanup.h"
#include "report/report.h"
#include "report/report_opts.h"

#include <stdio.h>
#include <sys/types.h>

struct output_file;
struct stdout_queue;

/* Arguments and errors as outfile_new's. */
int output_file_new(const char *path, uid_t uid, gid_t gid, const struct report_format *format,
		    struct output_file **ret_file);

/* Belongs to the file. */
FILE *output_file_stream(struct output_file *file);

/*
 * Of what a writer returned: as outfile_commit where it is 0, else it, or where it is -EIO, as of a
 * stream that did not take all, why. To be called once.
 */
int output_file_end(struct output_file *file, int r);

/* What was not committed is removed. NULL is legal. */
void output_file_free(struct output_file *file);
DEFINE_CLEANUP(struct output_file, output_file_free)

/*
 * Standard output as a stream that knows why a write failed: a closed pipe is no error to log.
 */
struct stdout_stream;

/*
 * With a queue (borrowed; NULL: without) what its reader does not take yet waits there, up to some
 * MiB; else, and beyond that, a write waits. 0 or -ENOMEM.
 */
int stdout_stream_new(struct stdout_queue *queue, struct stdout_stream **ret_stream);
/* Without a flush before, what is not written yet is dropped. NULL is legal. */
void stdout_stream_free(struct stdout_stream *stream);
DEFINE_CLEANUP(struct stdout_stream, stdout_stream_free)

/* Belongs to the stream; written in pieces of 64 KiB, or as flushed. */
FILE *stdout_stream_file(struct stdout_stream *stream);

/* 0 or the negative errno of the first write that failed. */
int stdout_stream_flush(struct stdout_stream *stream);

/* The filters alone, which borrow from the options. */
struct report_opts output_filters(const struct options *options);

/*
 * What options say of an output's contents and looks: borrows from them; of jobs the first, of leak
 * checks none.
 */
struct report_opts output_style(const struct options *options, const struct option_output *output);

#endif
