/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of an output: base/outfile.h, compressed where its name says so (report/packed_out.h).
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_FILE_H
#define MEMTRACED_SERVICE_OUTPUT_FILE_H

#include "base/cleanup.h"
#include "report/report.h"

#include <stdio.h>
#include <sys/types.h>

struct output_file;

/* Arguments and errors as outfile_new's. */
int output_file_new(const char *path, uid_t uid, gid_t gid, const struct report_format *format,
		    struct output_file **ret_file);

/* Belongs to the file. */
FILE *output_file_stream(struct output_file *file);

/* Why the stream did not take all, which writers call -EIO: negative errno of the first failure. */
int output_file_error(struct output_file *file);

/* As outfile_commit, to be called once. */
int output_file_commit(struct output_file *file);

/* What was not committed is removed. NULL is legal. */
void output_file_free(struct output_file *file);
DEFINE_CLEANUP(struct output_file, output_file_free)

#endif
