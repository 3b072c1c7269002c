/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hold/hold_table.h"

#include "base/hashmap.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

struct hold_table {
	struct hashmap threads, processes;
};

DEFINE_HASHMAP_OPS(thread_ops, struct held_thread, free, tid);
DEFINE_HASHMAP_OPS(process_ops, struct held_process, free, pid);

int hold_table_new(struct hold_table **ret_table)
{
	struct hold_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->threads.ops = &thread_ops;
	table->processes.ops = &process_ops;
	*ret_table = table;
	return 0;
}

void hold_table_free(struct hold_table *table)
{
	if (!table)
		return;
	hashmap_done(&table->threads);
	hashmap_done(&table->processes);
	free(table);
}

struct held_thread *hold_table_thread(const struct hold_table *table, pid_t tid)
{
	return hashmap_find(&table->threads, &(struct held_thread){ .tid = tid });
}

struct held_process *hold_table_process(const struct hold_table *table, pid_t pid)
{
	return hashmap_find(&table->processes, &(struct held_process){ .pid = pid });
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
	r = hashmap_insert(&table->threads, thread);
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
	const struct held_process added = { .pid = pid, .parent = parent };
	bool is_new;
	struct held_process *process =
		hashmap_intern(&table->processes, &added, sizeof(added), &is_new);

	if (!process || !is_new)
		return process ? -EEXIST : -ENOMEM;
	*ret_process = process;
	return 0;
}

void hold_table_remove_thread(struct hold_table *table, struct held_thread *thread)
{
	if (thread->process)
		LIST_REMOVE(thread, siblings);
	free(hashmap_remove(&table->threads, thread));
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
	free(hashmap_remove(&table->processes, process));
}

size_t hold_table_n_threads(const struct hold_table *table)
{
	return table->threads.len;
}

static int seize(pid_t tid, long options)
{
	int error;

	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) == 0)
		return 0;
	error = errno;
	/* The kernel says EPERM of zombies, too, of which a thread's is gone at once. */
	return error == EPERM && proc_thread_has_ended(tid) ? -ESRCH : -error;
}

int hold_seize_waiting(struct hold_table *table, pid_t pid, long options)
{
	struct held_process *process;
	struct held_thread *thread;
	int r;

	r = hold_table_add_process(table, pid, 0, &process);
	if (r < 0)
		return r;
	r = hold_table_add_thread(table, pid, process, &thread);
	if (r == 0)
		r = seize(pid, options);
	if (r < 0) {
		hold_table_remove_process(table, process);
		return r;
	}
	thread->born = true;
	return 0;
}

/* 0: seized, or nothing is to be seized any more; 1: it is ours already; or negative errno. */
static int seize_thread(struct hold_table *table, struct held_process *process, pid_t tid,
			long options)
{
	struct held_thread *thread;
	struct process_info info;
	int r;

	if (hold_table_thread(table, tid))
		return 1;
	/* Before it is seized: a thread without an entry would never be let go. */
	r = hold_table_add_thread(table, tid, process, &thread);
	if (r < 0)
		return r;
	thread->born = true;
	r = seize(tid, options);
	/* Another process's, which has its id by now, is let go at its next stop. */
	if (r == 0 && !process_has_thread(process->pid, tid)) {
		thread->unwanted = true;
		(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* else it has ended */
	}
	if (r == 0)
		return 0;
	hold_table_remove_thread(table, thread);
	if (r == -ESRCH)
		return 1;
	if (r == -EPERM && process_status_read(tid, &info) == 0 && info.tracer)
		/* born to one that we have: its first stop is going to be seen */
		return info.tracer == gettid() ? 1 : -EBUSY;
	return r;
}

/* 0: some threads were not known yet; 1: none; or negative errno. */
static int seize_new_threads(struct hold_table *table, struct held_process *process, long options)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t n;
	int r = process_threads(process->pid, &tids, &n), all = 1;

	for (size_t i = 0; i < n && r >= 0; i++) {
		r = seize_thread(table, process, tids[i], options);
		all &= r;
	}
	return r < 0 ? r : all;
}

/* Only what is stopped can be let go: that is done when target/hold sees the stops. */
static void begin_to_let_go(struct held_process *process)
{
	const struct held_thread *thread;

	process->unwanted = true;
	LIST_FOREACH(thread, &process->threads, siblings)
	(void)ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL); /* else it has ended */
}

/* Until a reading of the list shows nothing new: those born to threads that we have are ours. */
int hold_seize_threads(struct hold_table *table, pid_t pid, long options)
{
	struct held_process *process;
	int r = hold_table_add_process(table, pid, 0, &process);

	if (r < 0)
		return r;
	do
		r = seize_new_threads(table, process, options);
	while (r == 0);
	if (LIST_EMPTY(&process->threads)) {
		hold_table_remove_process(table, process);
		return r < 0 ? r : -ESRCH;
	}
	if (r < 0)
		begin_to_let_go(process);
	return r < 0 ? r : 0;
}
