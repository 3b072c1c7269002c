/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/worker_group.h"

#include "base/clock.h"
#include "base/vec.h"

#include <errno.h>
#include <pthread.h>

/*
 * Each death names an object that is not tried again, but somebody may map one after the other:
 * so many starts after one at once, and one more in each of these times.
 */
#define MAX_STARTS 16
#define START_NS (10 * SECOND_NS)

/* Files of which workers have died; of more of them the first ones are forgotten. */
#define MAX_DEADLY 1024

struct worker_group {
	struct keeper *keeper;
	pthread_mutex_t lock; /* of all below */
	unsigned int n_refs;
	unsigned int starts_left;
	uint64_t refilled_ns;
	VEC(struct file_version) deadly;
	uint64_t n_deaths;
};

static void lock(struct worker_group *group)
{
	(void)pthread_mutex_lock(&group->lock); /* cannot fail: no thread locks it twice */
}

static void unlock(struct worker_group *group)
{
	(void)pthread_mutex_unlock(&group->lock); /* cannot fail: this thread holds it */
}

int worker_group_new(const struct worker_ops *ops, struct worker_group **ret_group)
{
	_cleanup_(worker_group_unref_p) struct worker_group *group = calloc(1, sizeof(*group));
	int r;

	if (!group)
		return -ENOMEM;
	(void)pthread_mutex_init(&group->lock, NULL); /* cannot fail with default attributes */
	group->n_refs = 1;
	r = keeper_new(ops, &group->keeper);
	if (r < 0)
		return r;
	group->starts_left = MAX_STARTS;
	group->refilled_ns = clock_monotonic_ns();
	*ret_group = TAKE_PTR(group);
	return 0;
}

struct worker_group *worker_group_ref(struct worker_group *group)
{
	lock(group);
	group->n_refs++;
	unlock(group);
	return group;
}

void worker_group_unref(struct worker_group *group)
{
	bool is_last;

	if (!group)
		return;
	lock(group);
	is_last = --group->n_refs == 0;
	unlock(group);
	if (!is_last)
		return;
	keeper_free(group->keeper);
	vec_done(&group->deadly);
	(void)pthread_mutex_destroy(&group->lock); /* nobody holds it */
	free(group);
}

struct keeper *worker_group_keeper(const struct worker_group *group)
{
	return group->keeper;
}

static void refill_starts(struct worker_group *group)
{
	uint64_t now = clock_monotonic_ns();

	while (group->starts_left < MAX_STARTS && now - group->refilled_ns >= START_NS) {
		group->starts_left++;
		group->refilled_ns += START_NS;
	}
	if (group->starts_left == MAX_STARTS)
		group->refilled_ns = now;
}

bool worker_group_may_restart(struct worker_group *group)
{
	bool may;

	lock(group);
	refill_starts(group);
	may = group->starts_left > 0;
	group->starts_left -= may;
	unlock(group);
	return may;
}

static bool has_deadly(const struct worker_group *group, const struct file_version *file)
{
	vec_foreach(&group->deadly, known)
		if (file_version_equal(known, file))
			return true;
	return false;
}

int worker_group_add_deadly(struct worker_group *group, const struct file_version *file)
{
	int r = 0;

	lock(group);
	if (has_deadly(group, file))
		; /* another worker has died of it, too */
	else if (group->deadly.len < MAX_DEADLY)
		r = vec_push(&group->deadly, *file);
	else
		group->deadly.data[group->n_deaths++ % MAX_DEADLY] = *file;
	unlock(group);
	return r;
}

bool worker_group_is_deadly(struct worker_group *group, int fd)
{
	struct file_version file;
	bool is_deadly;

	if (file_version_read(fd, &file) < 0)
		return false;
	lock(group);
	is_deadly = has_deadly(group, &file);
	unlock(group);
	return is_deadly;
}
