/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/thread_exit.h"

#include "base/cleanup.h"
#include "target/process.h"
#include "target/stop.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/*
 * Whoever ends the others is in its system call already; while it is running, /proc does not say,
 * and where others are busy, too, that may be for a while.
 */
#define LOOKS 2000
#define LOOK_AGAIN_NS 100000

/* 1: this thread ends all; 0: it does not seem to; -1: it executes a new image. */
static int looks_like(pid_t pid, pid_t tid, bool *goes_on)
{
	struct stopped_thread thread = { .tid = tid, .system_call = -1 };
	bool stopped = stop_look(&thread);

	if (stopped && thread.is_exiting)
		return stop_read_registers(&thread) && thread.system_call == SYS_exit_group;
	if (!stopped && stop_has_ended(tid))
		return 0;
	*goes_on = true;
	if (stopped || !stop_read_blocked(pid, &thread))
		return 0;
	if (thread.system_call == SYS_execve || thread.system_call == SYS_execveat)
		return -1;
	return thread.system_call == SYS_exit_group;
}

/*
 * Who executes a new image waits for the others' ends; who ends all does not, and may be gone
 * before anybody looks.
 */
static int others_look_like(pid_t pid, pid_t tid)
{
	_cleanup_free_ pid_t *tids = NULL;
	bool goes_on = false;
	int found = 0;
	size_t n;

	if (process_threads(pid, &tids, &n) < 0)
		return -1;
	for (size_t i = 0; i < n && found == 0; i++)
		if (tids[i] != tid)
			found = looks_like(pid, tids[i], &goes_on);
	return found == 0 && !goes_on ? 1 : found;
}

enum thread_exit thread_exit_kind(pid_t pid, pid_t tid)
{
	const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
	struct stopped_thread thread = { .tid = tid, .system_call = -1 };

	if (!stop_look(&thread) || !thread.is_exiting || !stop_read_registers(&thread))
		return THREAD_EXIT_EXEC; /* killed meanwhile */
	if (WIFSIGNALED(thread.exit_status) || thread.system_call == SYS_exit_group)
		return THREAD_EXIT_PROCESS;
	if (thread.system_call == SYS_exit)
		return THREAD_EXIT_ALONE;
	if (thread.exit_status != 0)
		return THREAD_EXIT_PROCESS; /* an exec ends the others with 0 (do_group_exit) */
	for (int i = 0; i < LOOKS; i++) {
		int found = others_look_like(pid, tid);

		if (found)
			return found > 0 ? THREAD_EXIT_PROCESS : THREAD_EXIT_EXEC;
		(void)nanosleep(&pause, NULL);
	}
	return THREAD_EXIT_EXEC;
}
