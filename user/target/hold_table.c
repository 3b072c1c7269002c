/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hold_table.h"

#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>

struct hold_table {
	struct hashmap *threads, *processes;
};

static uint64_t thread_hash(const void *item)
{
	const struct held_thread *thread = item;

	return hash_u64((uint64_t)thread->tid);
}

static bool thread_equal(const void *a, const void *b)
{
	const struct held_thread *x = a, *y = b;

	return x->tid == y->tid;
}

static uint64_t process_hash(const void *item)
{
	const struct held_process *process = item;

	return hash_u64((uint64_t)process->pid);
}

static bool process_equal(const void *a, const void *b)
{
	const struct held_process *x = a, *y = b;

	return x->pid == y->pid;
}

static const struct hashmap_ops thread_ops = {thread_hash, thread_equal, free};
static const struct hashmap_ops process_ops = {process_hash, process_equal, free};

int hold_table_new(struct hold_table **ret_table)
{
	_cleanup_(hold_table_free_p) struct hold_table *table = calloc(1, sizeof(*table));
	int r;

	if (!table)
		return -ENOMEM;
	r = hashmap_new(&thread_ops, &table->threads);
	if (r == 0)
		r = hashmap_new(&process_ops, &table->processes);
	if (r < 0)
		return r;
	*ret_table = TAKE_PTR(table);
	return 0;
}

void hold_table_free(struct hold_table *table)
{
	if (!table)
		return;
	hashmap_free(table->threads);
	hashmap_free(table->processes);
	free(table);
}

struct held_thread *hold_table_thread(const struct hold_table *table, pid_t tid)
{
	return hashmap_find(table->threads, &(struct held_thread){.tid = tid});
}

struct held_process *hold_table_process(const struct hold_table *table, pid_t pid)
{
	return hashmap_find(table->processes, &(struct held_process){.pid = pid});
}

void hold_table_set_process(struct held_thread *thread, struct held_process *process)
{
	thread->process = process;
	if (process)
		process->n_threads++;
}

int hold_table_add_thread(struct hold_table *table, pid_t tid, struct held_process *process,
			  struct held_thread **ret_thread)
{
	_cleanup_free_ struct held_thread *thread = calloc(1, sizeof(*thread));
	int r;

	if (!thread)
		return -ENOMEM;
	thread->tid = tid;
	r = hashmap_insert(table->threads, thread);
	if (r < 0)
		return r;
	hold_table_set_process(thread, process);
	*ret_thread = TAKE_PTR(thread);
	return 0;
}

int hold_table_add_process(struct hold_table *table, pid_t pid, pid_t parent, bool follow,
			   struct held_process **ret_process)
{
	_cleanup_free_ struct held_process *process = calloc(1, sizeof(*process));
	int r;

	if (!process)
		return -ENOMEM;
	*process = (struct held_process){.pid = pid, .parent = parent, .follow = follow};
	r = hashmap_insert(table->processes, process);
	if (r < 0)
		return r;
	*ret_process = TAKE_PTR(process);
	return 0;
}

void hold_table_remove_thread(struct hold_table *table, struct held_thread *thread)
{
	if (thread->process)
		thread->process->n_threads--;
	free(hashmap_remove(table->threads, thread));
}

static struct held_thread *another_thread(struct hold_table *table,
					  const struct held_process *process,
					  const struct held_thread *keep)
{
	struct held_thread *thread;
	size_t pos = 0;

	while ((thread = hashmap_next(table->threads, &pos)) != NULL) {
		if (thread->process == process && thread != keep)
			return thread;
	}
	return NULL;
}

void hold_table_remove_threads(struct hold_table *table, struct held_process *process,
			       const struct held_thread *keep)
{
	size_t n_keep = keep && keep->process == process;

	while (process->n_threads > n_keep) {
		struct held_thread *thread = another_thread(table, process, keep);

		if (!thread)
			return;
		hold_table_remove_thread(table, thread);
	}
}

void hold_table_remove_process(struct hold_table *table, struct held_process *process)
{
	hold_table_remove_threads(table, process, NULL);
	free(hashmap_remove(table->processes, process));
}

size_t hold_table_n_threads(const struct hold_table *table)
{
	return hashmap_size(table->threads);
}
