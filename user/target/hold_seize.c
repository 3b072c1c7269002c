/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hold_seize.h"

#include "target/process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

static int seize(pid_t tid, long options)
{
	struct process_info info;
	int r;

	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) == 0)
		return 0;
	r = -errno;
	/* The kernel says EPERM of zombies, too. */
	if (r == -EPERM && process_info_read(tid, &info) == 0 && info.zombie)
		return -ESRCH;
	return r;
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
	if (r == 0)
		return 0;
	hold_table_remove_thread(table, thread);
	if (r == -ESRCH)
		return 1;
	if (r == -EPERM && process_info_read(tid, &info) == 0 && info.tracer)
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
