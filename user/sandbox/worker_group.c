/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/worker_group.h"

#include "base/clock.h"
#include "base/vec.h"
#include "sandbox/forker.h"
#include "sandbox/owner_budget.h"

#include <errno.h>
#include <pthread.h>

/* Files of which workers have died; of more of them the first ones are forgotten. */
#define MAX_DEADLY 1024

struct worker_group {
	struct keeper *keeper;
	struct file_owner own;
	pthread_mutex_t lock; /* of all below */
	unsigned int n_refs;
	struct owner_budgets budgets;
	struct start_budget starts;
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
	uint64_t now_ns;
	int r;

	if (!group)
		return -ENOMEM;
	(void)pthread_mutex_init(&group->lock, NULL); /* cannot fail with default attributes */
	group->n_refs = 1;
	r = file_owner_read_own(&group->own);
	if (r == 0)
		r = keeper_new(ops, &group->keeper);
	if (r < 0)
		return r;
	now_ns = clock_monotonic_ns();
	start_budget_init(&group->starts, now_ns);
	owner_budgets_init(&group->budgets, &group->own, now_ns);
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
	(void)pthread_mutex_destroy(&group->lock); /* it is not held */
	free(group);
}

struct keeper *worker_group_keeper(const struct worker_group *group)
{
	return group->keeper;
}

const struct file_owner *worker_group_own(const struct worker_group *group)
{
	return &group->own;
}

bool worker_group_may_read(struct worker_group *group, const struct file_owner *owner)
{
	bool may;

	lock(group);
	may = owner_budgets_allow(&group->budgets, owner, clock_monotonic_ns());
	unlock(group);
	return may;
}

void worker_group_charge(struct worker_group *group, const struct file_owner *owner,
			 uint64_t used_ns)
{
	lock(group);
	owner_budgets_charge(&group->budgets, owner, used_ns, clock_monotonic_ns());
	unlock(group);
}

bool worker_group_may_restart(struct worker_group *group)
{
	bool may;

	lock(group);
	may = start_budget_take(&group->starts, clock_monotonic_ns());
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
