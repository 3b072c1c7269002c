/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run as a file, docs/recording.md: what `-o record:` writes, what `memtraced report` and the
 * replay tests read. Written as the records come: a crash costs only the tail. One thread.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORDING_H
#define MEMTRACED_TRACE_RECORD_RECORDING_H

#include "base/cleanup.h"
#include "trace/source.h"

#include <stdio.h>

#define RECORDING_VERSION 2
/* A longer payload is taken for damage. */
#define RECORDING_MAX_PAYLOAD (16U << 20)

struct recording_writer;

/* Writes the header. `file` stays the caller's and must outlive the writer. 0, -ENOMEM, -EIO. */
int recording_writer_new(FILE *file, struct recording_writer **ret_writer);
/* Flushes nothing: that is the owner of the file's. NULL is legal. */
void recording_writer_free(struct recording_writer *writer);
DEFINE_CLEANUP(struct recording_writer, recording_writer_free)

/* Appends a record; `userdata` is the writer (a record_fn). 0, -ENOMEM, -EINVAL, -EIO. */
int recording_write(const struct record *record, void *userdata);

/* From now on records wait until there are enough of them to be compressed together. */
void recording_pack(struct recording_writer *writer);
/* Writes those that wait. 0, -ENOMEM, -EIO. */
int recording_flush(struct recording_writer *writer);

/* Says that the run was recorded to its end: nothing may follow. 0, -EIO. */
int recording_end(struct recording_writer *writer);
/* Bytes so far, the header left out. */
uint64_t recording_written(const struct recording_writer *writer);

/*
 * Reads the header. `file` stays the caller's and must outlive the source, which drains it to its
 * end: every record in order, cuts included, a RECORD_CUT_OFF where it has no end, then 1. Its cut
 * yields nothing: the recorded cuts came with the drain. 0, -ENOMEM, -EIO; -EBADMSG: no recording;
 * -EPROTONOSUPPORT: of a newer version that this one cannot read.
 */
int recording_open(FILE *file, struct source **ret_source);

/*
 * After a drain that returned 1: did the file end before its end, or turn out damaged? What came
 * before was yielded.
 */
bool recording_truncated(const struct source *source);

#endif
