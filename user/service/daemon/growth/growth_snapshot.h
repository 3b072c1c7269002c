/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What growth depth's session keeps, as of one moment: taken on the session's thread, read on the
 * loop's. It shares nothing with the session.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_SNAPSHOT_H
#define MEMTRACED_SERVICE_DAEMON_GROWTH_GROWTH_SNAPSHOT_H

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/regions.h"

struct session;

struct growth_loss {
	char *cause; /* "ring-full" */
	uint64_t count;
};

struct growth_mapped {
	pid_t pid;
	struct region_totals totals;
};

struct growth_snapshot {
	struct model_size size;
	uint64_t regions_left_out;
	/* At the session's latest cut: 0 and none before the first. */
	uint64_t events;
	VEC(struct growth_loss) losses;
	/* Of processes that run, ascending by pid. */
	VEC(struct growth_mapped) mapped;
};

/* 0 or -ENOMEM; for growth_snapshot_free(). */
int growth_snapshot_take(const struct session *session, struct growth_snapshot **ret_snapshot);
void growth_snapshot_free(struct growth_snapshot *snapshot); /* NULL is legal */
DEFINE_CLEANUP(struct growth_snapshot, growth_snapshot_free)

/* NULL: of this process no mapping is known. */
const struct region_totals *growth_snapshot_mapped(const struct growth_snapshot *snapshot,
						   pid_t pid);

#endif
