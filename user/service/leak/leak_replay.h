/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The leak checks of a recorded run, as it showed them: results for the reports, and the text that
 * was written, which goes to standard error again.
 */
#ifndef MEMTRACED_SERVICE_LEAK_LEAK_REPLAY_H
#define MEMTRACED_SERVICE_LEAK_LEAK_REPLAY_H

#include "base/cleanup.h"
#include "report/leak/leak_result.h"
#include "trace/record/record.h"

struct leak_replay;

int leak_replay_new(struct leak_replay **ret_replay); /* 0 or -ENOMEM */
void leak_replay_free(struct leak_replay *replay);    /* NULL is legal */
DEFINE_CLEANUP(struct leak_replay, leak_replay_free)

/* A record_fn; `userdata` is the replay. 0 or -ENOMEM. */
int leak_replay_add(const struct record *record, void *userdata);

/* The latest of each image. Valid until the next record. */
struct leak_result *const *leak_replay_results(const struct leak_replay *replay, size_t *ret_n);

#endif
