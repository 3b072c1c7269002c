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

static const struct hashmap_ops thread_ops = { thread_hash, thread_equal, free };
static const struct hashmap_ops process_ops = { process_hash, process_equal, free };

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
	return hashmap_find(table->threads, &(struct held_thread){ .tid = tid });
}

struct held_process *hold_table_process(const struct hold_table *table, pid_t pid)
{
	return hashmap_find(table->processes, &(struct held_process){ .pid = pid });
}

void hold_table_join_process(struct held_thread *thread, struct held_process *process)
{
	thread->process = process;
	LIST_INSERT_HEAD(&process->threads, thread, siblings);
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
	if (process)
		hold_table_join_process(thread, process);
	*ret_thread = TAKE_PTR(thread);
	return 0;
}

int hold_table_add_process(struct hold_table *table, pid_t pid, pid_t parent,
			   struct held_process **ret_process)
{
	_cleanup_free_ struct held_process *process = calloc(1, sizeof(*process));
	int r;

	if (!process)
		return -ENOMEM;
	*process = (struct held_process){ .pid = pid, .parent = parent };
	r = hashmap_insert(table->processes, process);
	if (r < 0)
		return r;
	*ret_process = TAKE_PTR(process);
	return 0;
}

void hold_table_remove_thread(struct hold_table *table, struct held_thread *thread)
{
	if (thread->process)
		LIST_REMOVE(thread, siblings);
	free(hashmap_remove(table->threads, thread));
}

void hold_table_remove_threads(struct hold_table *table, struct held_process *process,
			       const struct held_thread *keep)
{
	struct held_thread *thread = LIST_FIRST(&process->threads);

	while (thread) {
		struct held_thread *next = LIST_NEXT(thread, siblings);

		if (thread != keep)
			hold_table_remove_thread(table, thread);
		thread = next;
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
