/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/growth_snapshot.h"

#include "service/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void growth_snapshot_free(struct growth_snapshot *snapshot)
{
	if (!snapshot)
		return;
	vec_foreach(&snapshot->losses, loss)
		free(loss->cause);
	vec_done(&snapshot->losses);
	vec_done(&snapshot->mapped);
	free(snapshot);
}

static int take_coverage(const struct record_coverage *coverage, struct growth_snapshot *snapshot)
{
	int r = 0;

	if (!coverage)
		return 0;
	snapshot->events = coverage->events;
	for (size_t i = 0; r == 0 && i < coverage->n_losses; i++) {
		struct growth_loss loss = { .cause = strdup(coverage->losses[i].cause),
					    .count = coverage->losses[i].count };

		r = loss.cause ? vec_push(&snapshot->losses, loss) : -ENOMEM;
		if (r < 0)
			free(loss.cause);
	}
	return r;
}

static int add_mapped(pid_t pid, const struct region_totals *totals, void *userdata)
{
	struct growth_snapshot *snapshot = userdata;

	return vec_push(&snapshot->mapped, (struct growth_mapped){ pid, *totals });
}

static int by_pid(const void *a, const void *b)
{
	const struct growth_mapped *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int growth_snapshot_take(const struct session *session, struct growth_snapshot **ret_snapshot)
{
	_cleanup_(growth_snapshot_free_p) struct growth_snapshot *snapshot =
		calloc(1, sizeof(*snapshot));
	int r = snapshot ? take_coverage(session_coverage(session), snapshot) : -ENOMEM;

	if (r == 0)
		r = session_each_mapped(session, add_mapped, snapshot);
	if (r < 0)
		return r;
	if (snapshot->mapped.len > 0)
		qsort(snapshot->mapped.data, snapshot->mapped.len, sizeof(*snapshot->mapped.data),
		      by_pid);
	snapshot->size = session_size(session);
	snapshot->regions_left_out = session_regions_left_out(session);
	*ret_snapshot = TAKE_PTR(snapshot);
	return 0;
}

const struct region_totals *growth_snapshot_mapped(const struct growth_snapshot *snapshot,
						   pid_t pid)
{
	const struct growth_mapped key = { .pid = pid };
	const struct growth_mapped *found =
		snapshot->mapped.len ? bsearch(&key, snapshot->mapped.data, snapshot->mapped.len,
					       sizeof(*snapshot->mapped.data), by_pid) :
				       NULL;

	return found ? &found->totals : NULL;
}
