/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stops are looked at with WNOWAIT and ended by a ptrace request, not taken off by wait: as long as
 * a stop has not been waited for, the kernel keeps the signal that caused it, and delivers it
 * should the daemon be killed at this very moment (ptrace_stop's exit_code, which wait_task_stopped
 * clears).
 */
#include "target/hold/hold.h"

#include "base/vec.h"
#include "target/hold/hold_table.h"
#include "target/hold/stop.h"
#include "target/hold/tracer_thread.h"
#include "target/process.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* So many stops in one call, and then the caller's other work: a build forks without end. */
#define STOPS_PER_DISPATCH 512

#define TRACE_BIRTHS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)

/* Of all tracees of this thread, and only these; without WSTOPPED, no stops of mere children. */
#define WAIT_FLAGS (WEXITED | WNOHANG | __WALL | __WNOTHREAD)

struct hold {
	hold_fn fn;
	void *userdata;
	struct tracer_thread *thread;
	struct hold_table *table;
	VEC(pid_t) newborns; /* stopped at birth, before the cloner's event told whose they are */
	uint64_t signals_passed;
	enum hold_exits exits;
	bool tells_threads;
};

struct seize_request {
	struct hold *hold;
	pid_t pid;
};

struct go_on_request {
	struct hold *hold;
	pid_t pid;
};

struct stop_request {
	pid_t pid;
	uint64_t limit_ns;
	struct stop *stop;
};

static long request(enum __ptrace_request what, pid_t tid, long data)
{
	return ptrace(what, tid, NULL, (void *)data);
}

/*
 * This and the following ignore failures of ptrace: a tracee that SIGKILL has woken is no longer
 * stopped (ESRCH), and its end is going to be reported.
 */
static void resume(const struct held_thread *thread, int sig)
{
	(void)request(PTRACE_CONT, thread->tid, sig);
}

/* With its last thread the process leaves the table. */
static void let_go(struct hold *hold, struct held_thread *thread, int sig)
{
	struct held_process *process = thread->process;

	if (request(PTRACE_DETACH, thread->tid, sig) < 0)
		return;
	hold_table_remove_thread(hold->table, thread);
	if (process && LIST_EMPTY(&process->threads))
		hold_table_remove_process(hold->table, process);
}

static bool is_unwanted(const struct held_thread *thread)
{
	return thread->unwanted || (thread->process && thread->process->unwanted);
}

/* The same of a process, of which there is one thread. */
static void let_go_process(struct hold *hold, struct held_process *process)
{
	if (request(PTRACE_DETACH, process->pid, 0) == 0)
		hold_table_remove_process(hold->table, process);
}

/* Takes the stop off the wait queue of a thread that is to stay stopped, lest it be seen again. */
static void consume_stop(pid_t tid)
{
	siginfo_t info;

	(void)waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD);
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* Ends a PTRACE_EVENT_STOP: job control's stop goes on until SIGCONT, under our eyes. */
static void end_trap(const struct held_thread *thread, int sig)
{
	if (!is_stop_signal(sig)) {
		resume(thread, 0);
		return;
	}
	consume_stop(thread->tid);
	(void)request(PTRACE_LISTEN, thread->tid, 0);
}

static int call_back(struct hold *hold, const struct hold_event *event)
{
	return hold->fn(event, hold->userdata);
}

/* What the callback's answer means where it may only stop the dispatch. */
static int negative_or_zero(int r)
{
	return r < 0 ? r : 0;
}

/* Of a thread that is seized, or of one that was born to such a one. */
static long options_of(const struct hold *hold, bool is_seized)
{
	bool exits =
		hold->exits == HOLD_EXITS_ALL || (hold->exits == HOLD_EXITS_SEIZED && is_seized);

	return TRACE_BIRTHS | PTRACE_O_TRACEEXEC | (exits ? PTRACE_O_TRACEEXIT : 0);
}

/* A thread that has made its first stop, and whose origin is known, begins to run. */
static int begin_thread(struct hold *hold, struct held_thread *thread)
{
	struct held_process *process = thread->process;
	int r = 0;

	if (is_unwanted(thread)) {
		let_go(hold, thread, 0);
		return 0;
	}
	if (process->pid == thread->tid)
		r = call_back(hold, &(struct hold_event){ .type = HOLD_FORK,
							  .pid = process->pid,
							  .tid = thread->tid,
							  .parent = process->parent });
	if (r > 0) {
		let_go_process(hold, process);
		return 0;
	}
	/* What it was born to gave it all of its options. */
	if (hold->exits == HOLD_EXITS_SEIZED)
		(void)request(PTRACE_SETOPTIONS, thread->tid, options_of(hold, false));
	end_trap(thread, thread->birth_signal);
	return negative_or_zero(r);
}

/*
 * Notes of a thread without origin that it was born to `parent`, as its thread or its child. What
 * cannot be noted is let go.
 */
static int set_origin(struct hold *hold, struct held_thread *thread, struct held_process *parent,
		      bool is_thread)
{
	struct held_process *process = parent;
	int r = 0;

	if (!is_thread)
		r = hold_table_add_process(hold->table, thread->tid, parent->pid, &process);
	if (r < 0) {
		thread->unwanted = true;
		return r;
	}
	hold_table_join_process(thread, process);
	process->unwanted |= parent->unwanted;
	if (!is_thread || !hold->tells_threads)
		return 0;
	process->n_born++;
	return negative_or_zero(
		call_back(hold, &(struct hold_event){ .type = HOLD_THREAD,
						      .pid = process->pid,
						      .tid = thread->tid,
						      .number = process->n_born + 1 }));
}

/* Also when it has ended, until this thread has reaped it. */
static bool is_tracee(pid_t tid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)tid, &info, WAIT_FLAGS | WNOWAIT) == 0;
}

/* The thread that an event tells of, NULL when it has come and gone before the event. */
static int find_newborn(struct hold *hold, pid_t tid, struct held_thread **ret_newborn)
{
	*ret_newborn = hold_table_thread(hold->table, tid);
	if (*ret_newborn || !is_tracee(tid))
		return 0;
	return hold_table_add_thread(hold->table, tid, NULL, ret_newborn);
}

/* fork, vfork or clone has returned in `thread`; the newborn may have made its first stop already.
 */
static int on_birth(struct hold *hold, struct held_thread *thread)
{
	struct held_thread *newborn = NULL;
	bool without_origin;
	unsigned long tid;
	int r;

	if (ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &tid) < 0)
		return 0;
	r = find_newborn(hold, (pid_t)tid, &newborn);
	without_origin = newborn && !newborn->process && !newborn->unwanted;
	if (without_origin) {
		/* CLONE and VFORK events come of threads and processes alike. */
		bool is_thread = tgkill(thread->process->pid, (pid_t)tid, 0) == 0;

		r = set_origin(hold, newborn, thread->process, is_thread);
	}
	/* First the parent, which the callback shall not hold up. */
	resume(thread, 0);
	if (without_origin && newborn->born) {
		int told = begin_thread(hold, newborn);

		return r < 0 ? r : told;
	}
	return r;
}

/* The first sight of a thread: its cloner's event has not come yet, and may come any time. */
static int on_newborn(struct hold *hold, pid_t tid, int sig)
{
	struct held_thread *newborn;
	int r;

	r = vec_reserve(&hold->newborns, hold->newborns.len + 1);
	if (r == 0)
		r = hold_table_add_thread(hold->table, tid, NULL, &newborn);
	if (r < 0) {
		(void)request(PTRACE_DETACH, tid, 0);
		return r;
	}
	(void)vec_push(&hold->newborns, tid); /* has room */
	newborn->born = true;
	newborn->birth_signal = sig;
	consume_stop(tid);
	return 0;
}

/* A newborn process whose parent is not known: it was seized at birth, so the parent was held. */
static int adopt_orphan(struct hold *hold, struct held_thread *newborn, pid_t parent)
{
	struct held_process *process;
	int r = hold_table_add_process(hold->table, newborn->tid, parent, &process);

	if (r == 0)
		hold_table_join_process(newborn, process);
	else
		newborn->unwanted = true;
	return r;
}

/*
 * A cloner killed by SIGKILL never makes its event stop, so /proc is asked about newborns that are
 * left over. (For CLONE_PARENT it names the cloner's parent.)
 */
static int find_origin(struct hold *hold, struct held_thread *newborn)
{
	pid_t pid = process_of_thread(newborn->tid);
	struct process_info info = { 0 };
	struct held_process *parent;
	int r = 0, told;

	if (pid == newborn->tid && process_status_read(pid, &info) < 0)
		pid = -ESRCH;
	parent = pid < 0 ? NULL :
			   hold_table_process(hold->table, pid == newborn->tid ? info.ppid : pid);
	if (parent)
		r = set_origin(hold, newborn, parent, pid != newborn->tid);
	else if (pid == newborn->tid)
		r = adopt_orphan(hold, newborn, info.ppid);
	else
		newborn->unwanted = true; /* killed, too */
	told = begin_thread(hold, newborn);
	return r < 0 ? r : told;
}

static int find_origins(struct hold *hold)
{
	int r = 0;

	while (r == 0 && hold->newborns.len > 0) {
		pid_t tid = hold->newborns.data[--hold->newborns.len];
		struct held_thread *newborn = hold_table_thread(hold->table, tid);

		if (newborn && !newborn->process && !newborn->unwanted)
			r = find_origin(hold, newborn);
	}
	return r;
}

static int on_exec(struct hold *hold, struct held_thread *thread)
{
	struct held_process *process = thread->process;
	unsigned long old_tid = (unsigned long)thread->tid;
	int r;

	/* After an exec by another thread, all requests fail until then
	 * (looks_like_a_spurious_pid). */
	consume_stop(thread->tid);
	(void)ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &old_tid);
	/*
	 * The others have ended, and the leader, too; the caller has its tid now, and its own
	 * options.
	 */
	hold_table_remove_threads(hold->table, process, thread);
	thread->exiting = process->exiting = false;
	process->n_born = 0;
	if (process->parent == 0)
		(void)request(PTRACE_SETOPTIONS, thread->tid, options_of(hold, true));
	r = call_back(hold, &(struct hold_event){ .type = HOLD_EXEC,
						  .pid = process->pid,
						  .tid = thread->tid,
						  .old_tid = (pid_t)old_tid });
	if (r > 0)
		let_go_process(hold, process);
	else
		resume(thread, 0);
	return negative_or_zero(r);
}

static bool may_be_mark(pid_t tid)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code == SI_KERNEL &&
	       info.si_pid == 0;
}

static int on_signal(struct hold *hold, struct held_thread *thread, int sig)
{
	int r = 0;

	if (sig == HOLD_SIGNAL) {
		if (may_be_mark(thread->tid))
			r = call_back(hold, &(struct hold_event){ .type = HOLD_MARK,
								  .pid = thread->process->pid,
								  .tid = thread->tid });
		if (r > 0)
			sig = 0;
		else
			hold->signals_passed++;
	}
	resume(thread, sig);
	return negative_or_zero(r);
}

/* Do all of the process's threads end, of which this is one? */
static bool process_ends(const struct held_thread *thread)
{
	const struct held_thread *other;

	LIST_FOREACH(other, &thread->process->threads, siblings)
	if (!other->exiting)
		return thread_exit_kind(thread->process->pid, thread->tid) == THREAD_EXIT_PROCESS;
	return true;
}

static int on_exiting(struct hold *hold, struct held_thread *thread)
{
	struct held_process *process = thread->process;
	int r = 0;

	thread->exiting = true;
	if (!process->exiting && process_ends(thread)) {
		process->exiting = true;
		r = call_back(hold, &(struct hold_event){ .type = HOLD_EXITING,
							  .pid = process->pid,
							  .tid = thread->tid,
							  .parent = process->parent });
	}
	resume(thread, 0);
	return negative_or_zero(r);
}

/* Each thread makes this stop; of the process the first one tells. */
static int on_trap(struct hold *hold, struct held_thread *thread, int sig)
{
	struct held_process *process = thread->process;

	end_trap(thread, sig);
	if (!is_stop_signal(sig) || thread->tid != process->pid)
		return 0;
	return negative_or_zero(call_back(hold, &(struct hold_event){ .type = HOLD_STOPPED,
								      .pid = process->pid,
								      .tid = thread->tid,
								      .parent = process->parent,
								      .status = sig }));
}

/* `code` as of siginfo's si_status for CLD_TRAPPED: signal, and event above. */
static int on_stop(struct hold *hold, pid_t tid, int code)
{
	struct held_thread *thread = hold_table_thread(hold->table, tid);
	int sig = code & 0x7f, event = code >> 8;

	if (!thread)
		return on_newborn(hold, tid, sig);
	if (!thread->born) {
		thread->born = true;
		thread->birth_signal = sig;
		return begin_thread(hold, thread);
	}
	if (is_unwanted(thread)) {
		let_go(hold, thread, event ? 0 : sig);
		return 0;
	}
	/* It waits for its origin; SIGKILL alone can have woken it: PTRACE_EVENT_EXIT. */
	if (!thread->process) {
		resume(thread, 0);
		return 0;
	}
	switch (event) {
	case 0:
		return on_signal(hold, thread, sig);
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		return on_birth(hold, thread);
	case PTRACE_EVENT_EXEC:
		return on_exec(hold, thread);
	case PTRACE_EVENT_EXIT:
		return on_exiting(hold, thread);
	default:
		return on_trap(hold, thread, sig);
	}
}

/*
 * The kernel reports the leader's end after that of all other threads (delay_group_leader), with
 * the status of the process. Threads that an exec ended are no longer in the table.
 */
static int on_end(struct hold *hold, pid_t tid)
{
	struct held_thread *thread = hold_table_thread(hold->table, tid);
	struct held_process *process = thread ? thread->process : NULL;
	struct hold_event event = { .type = HOLD_EXITED, .pid = tid, .tid = tid };
	bool told;

	if (waitpid(tid, &event.status, WNOHANG | __WALL | __WNOTHREAD) != tid)
		return 0;
	if (!process || process->pid != tid) {
		if (thread)
			hold_table_remove_thread(hold->table, thread);
		return 0;
	}
	/* One that was killed before its first stop has never been anybody. */
	told = thread->born && !process->unwanted;
	event.parent = process->parent;
	hold_table_remove_process(hold->table, process);
	return told ? negative_or_zero(call_back(hold, &event)) : 0;
}

/* 1: handled one; 0: nothing there; or negative errno. */
static int dispatch_one(struct hold *hold)
{
	siginfo_t info = { 0 };
	int r;

	if (waitid(P_ALL, 0, &info, WAIT_FLAGS | WNOWAIT) < 0)
		return errno == ECHILD ? 0 : errno == EINTR ? 1 : -errno;
	if (info.si_pid == 0)
		return 0;
	if (info.si_code == CLD_TRAPPED)
		r = on_stop(hold, info.si_pid, info.si_status);
	else
		r = on_end(hold, info.si_pid);
	return r < 0 ? r : 1;
}

static int dispatch_stops(void *arg)
{
	struct hold *hold = arg;
	int r = 1, n;

	for (n = 0; r == 1 && n < STOPS_PER_DISPATCH; n++)
		r = dispatch_one(hold);
	if (r >= 0 && hold->newborns.len > 0) {
		int found = find_origins(hold);

		if (found < 0)
			return found;
	}
	if (r == 1)
		(void)kill(getpid(), SIGCHLD);
	return r < 0 ? r : 0;
}

static int seize_child(void *arg)
{
	const struct seize_request *seize = arg;

	return hold_seize_waiting(seize->hold->table, seize->pid, options_of(seize->hold, true));
}

static int seize_running(void *arg)
{
	const struct seize_request *seize = arg;

	return hold_seize_threads(seize->hold->table, seize->pid, options_of(seize->hold, true));
}

int hold_new(hold_fn fn, void *userdata, struct hold **ret_hold)
{
	_cleanup_(hold_free_p) struct hold *hold = calloc(1, sizeof(*hold));
	struct sigaction action;
	int r;

	if (!hold)
		return -ENOMEM;
	hold->fn = fn;
	hold->userdata = userdata;
	if (sigaction(SIGCHLD, NULL, &action) < 0)
		return -errno;
	if (action.sa_handler == SIG_IGN || action.sa_flags & SA_NOCLDSTOP) {
		action.sa_flags &= ~SA_NOCLDSTOP;
		if (action.sa_handler == SIG_IGN)
			action.sa_handler = SIG_DFL;
		if (sigaction(SIGCHLD, &action, NULL) < 0)
			return -errno;
	}
	r = hold_table_new(&hold->table);
	if (r == 0)
		r = tracer_thread_new(&hold->thread);
	if (r < 0)
		return r;
	*ret_hold = TAKE_PTR(hold);
	return 0;
}

void hold_free(struct hold *hold)
{
	if (!hold)
		return;
	tracer_thread_free(hold->thread);
	hold_table_free(hold->table);
	vec_done(&hold->newborns);
	free(hold);
}

int hold_seize_child(struct hold *hold, pid_t pid)
{
	struct seize_request seize_request = { .hold = hold, .pid = pid };

	return tracer_thread_call(hold->thread, seize_child, &seize_request);
}

int hold_seize_running(struct hold *hold, pid_t pid)
{
	struct seize_request seize_request = { .hold = hold, .pid = pid };

	return tracer_thread_call(hold->thread, seize_running, &seize_request);
}

bool hold_has(const struct hold *hold, pid_t pid)
{
	return hold_table_process(hold->table, pid) != NULL;
}

void hold_tell_threads(struct hold *hold)
{
	hold->tells_threads = true;
}

void hold_watch_exits(struct hold *hold, enum hold_exits exits)
{
	hold->exits = exits;
}

static int stop_held(void *arg)
{
	struct stop_request *stop = arg;

	return stop_seized(stop->pid, stop->limit_ns, &stop->stop);
}

int hold_stop(struct hold *hold, pid_t pid, uint64_t limit_ns, struct stop **ret_stop)
{
	struct stop_request stop = { .pid = pid, .limit_ns = limit_ns };
	int r = tracer_thread_call(hold->thread, stop_held, &stop);

	/* The stops have to be dispatched, whatever came of it. */
	(void)kill(getpid(), SIGCHLD);
	if (r == 0)
		*ret_stop = stop.stop;
	return r;
}

/* Has it been interrupted, and nothing else? Its stop stays as it is. */
static bool is_interrupted(const struct held_thread *thread)
{
	siginfo_t info = { 0 };

	if (!thread->born || is_unwanted(thread) ||
	    waitid(P_PID, (id_t)thread->tid, &info,
		   WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD) < 0)
		return false;
	return info.si_pid == thread->tid && info.si_code == CLD_TRAPPED &&
	       info.si_status >> 8 == PTRACE_EVENT_STOP && !is_stop_signal(info.si_status & 0x7f);
}

static int go_on(void *arg)
{
	const struct go_on_request *go_on = arg;
	struct held_process *process = hold_table_process(go_on->hold->table, go_on->pid);
	struct held_thread *thread;

	if (!process)
		return 0;
	LIST_FOREACH(thread, &process->threads, siblings)
	if (is_interrupted(thread))
		resume(thread, 0);
	return 0;
}

void hold_go_on(struct hold *hold, pid_t pid)
{
	struct go_on_request which = { .hold = hold, .pid = pid };

	(void)tracer_thread_call(hold->thread, go_on, &which); /* cannot fail */
}

int hold_dispatch(struct hold *hold)
{
	return tracer_thread_call(hold->thread, dispatch_stops, hold);
}

uint64_t hold_signals_passed(const struct hold *hold)
{
	return hold->signals_passed;
}

size_t hold_threads(const struct hold *hold)
{
	return hold_table_n_threads(hold->table);
}
