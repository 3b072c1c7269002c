/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `-o record:PATH`: the run as a file for `memtraced report`. Records are written as they come. The
 * file takes its name at the first state that it can be read up to, so that an earlier recording is
 * not replaced by nothing, and grows from then on. A write that fails, of a full disk say, ends the
 * recording and not the run: it is said once.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_RECORDER_H
#define MEMTRACED_SERVICE_OUTPUT_RECORDER_H

#include "base/cleanup.h"
#include "report/view/view_resolve.h"
#include "trace/record/record.h"

#include <sys/types.h>

struct recorder;

/* With this user's rights. 0 or negative errno, as outfile_new. */
int recorder_new(const char *path, uid_t uid, gid_t gid, struct recorder **ret_recorder);
void recorder_free(struct recorder *recorder); /* NULL is legal */
DEFINE_CLEANUP(struct recorder, recorder_free)

/* A record_fn; `userdata` is the recorder, NULL is legal. 0 or -ENOMEM. */
int recorder_add(const struct record *record, void *userdata);

/*
 * After a cut: adds the symbols of what is new since the last one (`with_symbols`), and from now on
 * the file is there, readable up to here. 0 or -ENOMEM.
 */
int recorder_checkpoint(struct recorder *recorder, const struct view_resolver *resolver,
			bool with_symbols);

/* Hands what was written to the system, once a second at most. 0 or -ENOMEM. */
int recorder_flush(struct recorder *recorder, uint64_t now_ns);

/* Bytes written so far. */
uint64_t recorder_written(const struct recorder *recorder);

/* Adds all that was resolved and completes the file. 0 or negative errno (logged). */
int recorder_finish(struct recorder *recorder, struct symbols *symbols);

#endif
