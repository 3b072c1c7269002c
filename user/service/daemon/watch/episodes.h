/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For how long a rule's condition has held of each process or cgroup, and which of them are left
 * alone since they had their turn. No clock of its own; one thread.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_WATCH_EPISODES_H
#define MEMTRACED_SERVICE_DAEMON_WATCH_EPISODES_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct episodes;

int episodes_new(struct episodes **ret_episodes);
void episodes_free(struct episodes *episodes); /* NULL is legal */
DEFINE_CLEANUP(struct episodes, episodes_free)
/* Forgets all. */
void episodes_clear(struct episodes *episodes);

/*
 * A look at all: the condition holds of `key` now. Between two looks that are further apart than
 * gap_ns it is not known, so that the time begins anew. 1: it has held for for_ns and nothing was
 * done about it; 0: not yet, or it was; or -ENOMEM.
 */
int episodes_hold(struct episodes *episodes, const char *key, uint64_t for_ns, uint64_t gap_ns,
		  uint64_t now_ns);
/* Something was done about it: not again before `until_ns`. */
void episodes_settle(struct episodes *episodes, const char *key, uint64_t until_ns);
/* It is refused. True: for the first time since the condition holds. */
bool episodes_refuse(struct episodes *episodes, const char *key);
/* The look is over: what it did not hold of is forgotten, unless it is to be left alone. */
void episodes_end(struct episodes *episodes, uint64_t now_ns);

/* Of how many the condition held in the last look; *ret_since_ns: since when, of the longest. */
size_t episodes_held(const struct episodes *episodes, uint64_t *ret_since_ns);

size_t episodes_count(const struct episodes *episodes);

#endif
