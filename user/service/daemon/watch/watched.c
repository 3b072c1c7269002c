/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/watch/watched.h"

#include "base/hashmap.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The maps own what is in the lists, too. */
struct watched {
	VEC(struct watched_process *) processes;
	VEC(struct watched_cgroup *) cgroups;
	struct hashmap by_pid, by_name;
	uint64_t sweep;
	uint64_t latest_ns;			     /* when something was added last */
	struct watched_process *gone[WATCHED_GONE];  /* a ring */
	size_t n_gone;				     /* ever */
	size_t processes_left_out, cgroups_left_out; /* so far in this sweep */
	struct watched_counts counts;
};

DEFINE_HASHMAP_OPS(process_ops, struct watched_process, free, pid);

static uint64_t cgroup_hash(const void *item)
{
	const char *name = ((const struct watched_cgroup *)item)->name;

	return hash_bytes(name, strlen(name), 0);
}

static bool cgroup_equal(const void *a, const void *b)
{
	const struct watched_cgroup *x = a, *y = b;

	return strcmp(x->name, y->name) == 0;
}

static void cgroup_free(struct watched_cgroup *cgroup)
{
	if (!cgroup)
		return;
	free(cgroup->name);
	free(cgroup);
}
DEFINE_CLEANUP(struct watched_cgroup, cgroup_free)

static void free_cgroup(void *item)
{
	cgroup_free(item);
}

int watched_new(struct watched **ret_watched)
{
	static const struct hashmap_ops cgroups = { cgroup_hash, cgroup_equal, free_cgroup };
	struct watched *watched = calloc(1, sizeof(*watched));

	if (!watched)
		return -ENOMEM;
	watched->by_pid.ops = &process_ops;
	watched->by_name.ops = &cgroups;
	*ret_watched = watched;
	return 0;
}

void watched_free(struct watched *watched)
{
	if (!watched)
		return;
	hashmap_done(&watched->by_pid);
	hashmap_done(&watched->by_name);
	vec_done(&watched->processes);
	vec_done(&watched->cgroups);
	for (size_t i = 0; i < WATCHED_GONE; i++)
		free(watched->gone[i]);
	free(watched);
}

/* --- sweeps ---------------------------------------------------------------------------------- */

void watched_begin(struct watched *watched)
{
	watched->sweep++;
	watched->processes_left_out = watched->cgroups_left_out = 0;
}

static struct watched_process *find_process(const struct watched *watched, pid_t pid)
{
	return hashmap_find(&watched->by_pid, &(struct watched_process){ .pid = pid });
}

/* NULL in *ret_process: there is no room. */
static int make_process(struct watched *watched, const struct process_info *info,
			struct watched_process **ret_process)
{
	_cleanup_free_ struct watched_process *process = NULL;
	int r;

	*ret_process = NULL;
	if (watched->processes.len >= WATCHED_PROCESSES) {
		watched->processes_left_out++;
		return 0;
	}
	process = calloc(1, sizeof(*process));
	r = process ? vec_reserve(&watched->processes, watched->processes.len + 1) : -ENOMEM;
	if (r < 0)
		return r;
	process->pid = info->pid;
	process->start_ticks = info->start_ticks;
	r = hashmap_insert(&watched->by_pid, process);
	if (r < 0)
		return r;
	*ret_process = TAKE_PTR(process);
	return vec_push(&watched->processes, *ret_process);
}

/* Takes it over. */
static void remember_gone(struct watched *watched, struct watched_process *process)
{
	struct watched_process **oldest = &watched->gone[watched->n_gone++ % WATCHED_GONE];

	process->gone_ns = watched->latest_ns;
	free(*oldest);
	*oldest = process;
}

/* Another has its pid. */
static int replace(struct watched *watched, struct watched_process *process,
		   const struct process_info *info)
{
	struct watched_process *old = malloc(sizeof(*old));

	if (!old)
		return -ENOMEM;
	*old = *process;
	remember_gone(watched, old);
	*process = (struct watched_process){ .pid = info->pid, .start_ticks = info->start_ticks };
	return 0;
}

int watched_add_process(struct watched *watched, const struct process_info *info, uint64_t now_ns)
{
	struct watched_process *process = find_process(watched, info->pid);
	int r = process ? 0 : make_process(watched, info, &process);

	watched->latest_ns = now_ns;
	if (r == 0 && process && process->start_ticks != info->start_ticks)
		r = replace(watched, process, info);
	if (r < 0 || !process)
		return r;
	memcpy(process->comm, info->comm, sizeof(process->comm));
	process->rss_bytes = info->rss_bytes;
	process->sweep = watched->sweep;
	watch_series_add(&process->rss, now_ns, info->rss_bytes);
	return 0;
}

static struct watched_cgroup *find_cgroup(const struct watched *watched, const char *name)
{
	return hashmap_find(&watched->by_name, &(struct watched_cgroup){ .name = (char *)name });
}

static int make_cgroup(struct watched *watched, const char *name,
		       struct watched_cgroup **ret_cgroup)
{
	_cleanup_(cgroup_free_p) struct watched_cgroup *cgroup = NULL;
	int r;

	*ret_cgroup = NULL;
	if (watched->cgroups.len >= WATCHED_CGROUPS) {
		watched->cgroups_left_out++;
		return 0;
	}
	cgroup = calloc(1, sizeof(*cgroup));
	if (cgroup)
		cgroup->name = strdup(name);
	r = cgroup && cgroup->name ? vec_reserve(&watched->cgroups, watched->cgroups.len + 1) :
				     -ENOMEM;
	if (r == 0)
		r = hashmap_insert(&watched->by_name, cgroup);
	if (r < 0)
		return r;
	*ret_cgroup = TAKE_PTR(cgroup);
	return vec_push(&watched->cgroups, *ret_cgroup);
}

int watched_add_cgroup(struct watched *watched, const char *name,
		       const struct cgroup_memory *memory, uint64_t now_ns)
{
	struct watched_cgroup *cgroup = find_cgroup(watched, name);
	int r = cgroup ? 0 : make_cgroup(watched, name, &cgroup);

	if (r < 0 || !cgroup)
		return r;
	cgroup->memory = *memory;
	cgroup->sweep = watched->sweep;
	watch_series_add(&cgroup->current, now_ns, memory->current_bytes);
	return 0;
}

void watched_leave_out_cgroups(struct watched *watched, size_t n)
{
	watched->cgroups_left_out += n;
}

static void forget_processes(struct watched *watched)
{
	size_t n = 0;

	vec_foreach(&watched->processes, process) {
		if ((*process)->sweep == watched->sweep)
			watched->processes.data[n++] = *process;
		else
			remember_gone(watched, hashmap_remove(&watched->by_pid, *process));
	}
	watched->processes.len = n;
}

static void forget_cgroups(struct watched *watched)
{
	size_t n = 0;

	vec_foreach(&watched->cgroups, cgroup) {
		if ((*cgroup)->sweep == watched->sweep)
			watched->cgroups.data[n++] = *cgroup;
		else
			cgroup_free(hashmap_remove(&watched->by_name, *cgroup));
	}
	watched->cgroups.len = n;
}

void watched_end(struct watched *watched)
{
	forget_processes(watched);
	forget_cgroups(watched);
	watched->counts = (struct watched_counts){
		.processes = watched->processes.len,
		.cgroups = watched->cgroups.len,
		.processes_left_out = watched->processes_left_out,
		.cgroups_left_out = watched->cgroups_left_out,
	};
}

void watched_set_pss(struct watched *watched, pid_t pid, uint64_t bytes, uint64_t now_ns)
{
	struct watched_process *process = find_process(watched, pid);

	if (!process)
		return;
	process->pss_bytes = bytes;
	process->pss_time_ns = now_ns;
}

/* --- looking at them ------------------------------------------------------------------------- */

const struct watched_process *watched_process(const struct watched *watched, pid_t pid)
{
	return find_process(watched, pid);
}

/* Ends and sweeps see the time when they come to it. */
#define SAME_TIME_NS UINT64_C(1000000000)

static bool was_there(const struct watched_process *process, uint64_t end_ns)
{
	return watch_series_at(&process->rss, 0).time_ns <= end_ns &&
	       (process->gone_ns == 0 ||
		(end_ns != UINT64_MAX && process->gone_ns + SAME_TIME_NS >= end_ns));
}

const struct watched_process *watched_process_until(const struct watched *watched, pid_t pid,
						    uint64_t end_ns)
{
	const struct watched_process *process = find_process(watched, pid);
	size_t n = watched->n_gone < WATCHED_GONE ? watched->n_gone : WATCHED_GONE;

	if (process && was_there(process, end_ns))
		return process;
	for (size_t i = 1; i <= n; i++) {
		process = watched->gone[(watched->n_gone - i) % WATCHED_GONE];
		if (process->pid == pid && was_there(process, end_ns))
			return process;
	}
	return NULL;
}

const struct watched_cgroup *watched_cgroup(const struct watched *watched, const char *name)
{
	return find_cgroup(watched, name);
}

const struct watched_process *watched_process_at(const struct watched *watched, size_t index)
{
	return index < watched->processes.len ? watched->processes.data[index] : NULL;
}

const struct watched_cgroup *watched_cgroup_at(const struct watched *watched, size_t index)
{
	return index < watched->cgroups.len ? watched->cgroups.data[index] : NULL;
}

static int by_use(const void *a, const void *b)
{
	const struct watched_cgroup *x = *(const struct watched_cgroup *const *)a;
	const struct watched_cgroup *y = *(const struct watched_cgroup *const *)b;

	if (x->memory.current_bytes != y->memory.current_bytes)
		return x->memory.current_bytes < y->memory.current_bytes ? 1 : -1;
	return strcmp(x->name, y->name);
}

int watched_choose_cgroups(const struct watched *watched, size_t most,
			   struct watched_choice *ret_choice)
{
	size_t n = watched->cgroups.len;
	const struct watched_cgroup **cgroups = calloc(n + 1, sizeof(*cgroups));

	if (!cgroups)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		cgroups[i] = watched->cgroups.data[i];
	qsort(cgroups, n, sizeof(*cgroups), by_use);
	*ret_choice = (struct watched_choice){ cgroups, n < most ? n : most };
	return 0;
}

void watched_choice_done(struct watched_choice *choice)
{
	free(choice->cgroups);
	*choice = (struct watched_choice){};
}

struct watched_counts watched_count(const struct watched *watched)
{
	return watched->counts;
}
