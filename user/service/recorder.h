/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `-o record:PATH`: the run as a file for `memtraced report`. Records are written as they come,
 * symbols at the end; like every output the file appears whole or not at all.
 */
#ifndef MEMTRACED_SERVICE_RECORDER_H
#define MEMTRACED_SERVICE_RECORDER_H

#include "base/cleanup.h"
#include "trace/record/record.h"

#include <sys/types.h>

struct recorder;
struct symbols;

/* Creates or replaces the file with this user's rights. 0 or negative errno, as outfile_new. */
int recorder_new(const char *path, uid_t uid, gid_t gid, struct recorder **ret_recorder);
void recorder_free(struct recorder *recorder); /* NULL is legal */
DEFINE_CLEANUP(struct recorder, recorder_free)

/* A record_fn; `userdata` is the recorder, NULL is legal. */
int recorder_take(const struct record *record, void *userdata);

/* Adds what was resolved and completes the file. 0 or negative errno. */
int recorder_finish(struct recorder *recorder, const struct symbols *symbols);

#endif
