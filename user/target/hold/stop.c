/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/hold/stop.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "target/hold/tracer_thread.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

/* Threads made while the others are being stopped are found when the list is read again. */
#define MAX_READINGS 64
#define LOOK_AGAIN_NS 50000

#define STOP_WAIT_FLAGS (WSTOPPED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD)

struct stop {
	pid_t pid;
	struct tracer_thread *tracer; /* NULL: target/hold's */
	uint64_t limit_ns, began_ns;
	bool incomplete; /* the list of threads went on growing */
	VEC(struct stopped_thread) threads;
	VEC(pid_t) strangers; /* of other processes, seized by mistake, and not let go yet */
};

/* --- registers ------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static void copy_registers(struct stopped_thread *thread, const struct user_regs_struct *regs)
{
	const uint64_t general[] = {
		regs->rax, regs->rbx, regs->rcx, regs->rdx, regs->rsi, regs->rdi,
		regs->rbp, regs->rsp, regs->r8,	 regs->r9,  regs->r10, regs->r11,
		regs->r12, regs->r13, regs->r14, regs->r15,
	};

	memcpy(thread->registers, general, sizeof(general));
	thread->sp = regs->rsp;
	thread->pc = regs->rip;
	thread->tls = regs->fs_base;
	thread->system_call = (long)regs->orig_rax;
}
#elif defined(__aarch64__)
#define INSN_SVC 0xd4000001U

/*
 * A system call that a stop interrupts is forgotten before (arch/arm64/kernel/signal.c: do_signal),
 * when the registers are wound back to its instruction, or say that it was interrupted.
 */
static bool is_before_call(const struct stopped_thread *thread, const struct user_regs_struct *regs)
{
	bool is_over = regs->regs[0] == (uint64_t)-EINTR;
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, thread->tid, regs->pc - (is_over ? 4 : 0), NULL);
	return errno == 0 && (uint32_t)word == INSN_SVC;
}

static void copy_registers(struct stopped_thread *thread, const struct user_regs_struct *regs)
{
	int number = -1; /* as the kernel keeps it: x8 is any number outside of a system call */
	struct iovec iov = { .iov_base = &number, .iov_len = sizeof(number) };

	(void)ptrace(PTRACE_GETREGSET, thread->tid, NT_ARM_SYSTEM_CALL, &iov);
	if (number < 0 && is_before_call(thread, regs))
		number = (int)regs->regs[8];
	memcpy(thread->registers, regs->regs, sizeof(regs->regs));
	thread->registers[STOP_REGISTERS - 1] = regs->sp;
	thread->sp = regs->sp;
	thread->pc = regs->pc;
	thread->system_call = number;
	iov = (struct iovec){ .iov_base = &thread->tls, .iov_len = sizeof(thread->tls) };
	(void)ptrace(PTRACE_GETREGSET, thread->tid, NT_ARM_TLS, &iov);
}
#else
#error "registers of this machine"
#endif

/* Of a thread that has stopped; false: it cannot be read. */
static bool stop_read_registers(struct stopped_thread *thread)
{
	struct user_regs_struct regs;
	struct iovec iov = { .iov_base = &regs, .iov_len = sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, &iov) < 0 ||
	    iov.iov_len < sizeof(regs))
		return false;
	copy_registers(thread, &regs);
	return true;
}

/*
 * Of a thread that is blocked inside the kernel, /proc knows the arguments of its system call, sp
 * and pc (proc(5)): "7 0x.. 0x.. 0x.. 0x.. 0x.. 0x.. SP PC", or "-1 SP PC" outside of one.
 */
static bool stop_read_blocked(pid_t pid, struct stopped_thread *thread)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t *args = thread->registers, *sp = &thread->sp;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)thread->tid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return false;
	if (sscanf(line, "-1 %" SCNx64, sp) == 1)
		return true;
	return sscanf(line,
		      "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		      " %" SCNx64,
		      &thread->system_call, &args[0], &args[1], &args[2], &args[3], &args[4],
		      &args[5], sp) == 8;
}

/* --- stopping -------------------------------------------------------------------------------- */

static bool knows(const struct stop *stop, pid_t tid)
{
	vec_foreach(&stop->threads, it)
		if (it->tid == tid)
			return true;
	return false;
}

/* The first thread's id stays in the list as a zombie for as long as there are others. */
static bool stop_has_ended(pid_t tid)
{
	return proc_thread_has_ended(tid);
}

/* What SEIZE says of a thread that has ended is EPERM, as of one that is traced. */
static int refusal(pid_t tid, int error)
{
	struct process_info info;
	int r;

	if (error != EPERM)
		return -error;
	r = process_status_read(tid, &info);
	if (r == -ESRCH || (r == 0 && info.thread_ended))
		return -ESRCH;
	return r == 0 && info.tracer ? -EBUSY : -EPERM;
}

/* 1: asked to stop; 0: it has ended; or negative errno. */
static int interrupt_thread(struct stop *stop, pid_t tid)
{
	bool is_stranger = false;
	int r = 0;

	if (stop->tracer && ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		r = refusal(tid, errno);
	if (r == 0 && stop->tracer)
		is_stranger = !process_has_thread(stop->pid, tid);
	if (r == 0 && is_stranger)
		r = vec_push(&stop->strangers, tid);
	/* A stranger, too: only a thread that has stopped can be let go. */
	if (r == 0 && ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		r = -errno;
	if (r == 0 && is_stranger)
		return 0;
	if (r == -ESRCH)
		return 0;
	return r < 0 ? r : 1;
}

/* 1: some threads were not known yet; 0: none; or negative errno. */
static int ask_new_threads(struct stop *stop)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t n;
	int r = process_threads(stop->pid, &tids, &n), any = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (knows(stop, tids[i]) || stop_has_ended(tids[i]))
			continue;
		r = interrupt_thread(stop, tids[i]);
		if (r == 1) {
			any = 1;
			r = vec_push(&stop->threads,
				     (struct stopped_thread){ .tid = tids[i], .system_call = -1 });
		}
	}
	return r < 0 ? r : any;
}

/*
 * For one thread that the calling thread traces, with its tid filled in: has it stopped, and as
 * what? A stop of whatever kind will do.
 */
static bool stop_look(struct stopped_thread *thread)
{
	siginfo_t info = { 0 };
	unsigned long status;

	if (waitid(P_PID, (id_t)thread->tid, &info, STOP_WAIT_FLAGS) < 0 ||
	    info.si_pid != thread->tid)
		return false;
	if (info.si_status >> 8 == PTRACE_EVENT_EXIT &&
	    ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &status) == 0) {
		thread->is_exiting = true;
		thread->exit_status = (int)status;
	}
	return true;
}

/* True: it is let go, with the signal that it may have stopped for, or has ended. */
static bool let_stranger_go(pid_t tid)
{
	siginfo_t info = { 0 };
	int sig;

	if (waitid(P_PID, (id_t)tid, &info, STOP_WAIT_FLAGS) < 0 || stop_has_ended(tid))
		return true;
	sig = info.si_status >> 8 ? 0 : info.si_status;
	return info.si_pid == tid && ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)sig) == 0;
}

/* How many are left. */
static size_t let_strangers_go(struct stop *stop)
{
	size_t n = 0;

	for (size_t i = 0; i < stop->strangers.len; i++)
		if (!let_stranger_go(stop->strangers.data[i]))
			stop->strangers.data[n++] = stop->strangers.data[i];
	stop->strangers.len = n;
	return n;
}

/* How many are not stopped yet; those that ended are taken off. */
static size_t count_running(struct stop *stop)
{
	size_t n = 0, waiting = 0;

	for (size_t i = 0; i < stop->threads.len; i++) {
		struct stopped_thread *thread = &stop->threads.data[i];

		if (!thread->stopped)
			thread->stopped = stop_look(thread);
		if (!thread->stopped && stop_has_ended(thread->tid))
			continue;
		waiting += !thread->stopped;
		stop->threads.data[n++] = *thread;
	}
	stop->threads.len = n;
	return waiting;
}

static void wait_for_stops(struct stop *stop)
{
	const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };

	while (count_running(stop) + let_strangers_go(stop) > 0 &&
	       clock_monotonic_ns() - stop->began_ns < stop->limit_ns)
		(void)nanosleep(&pause, NULL); /* shorter when a signal comes */
}

/* On the tracer's thread. */
static int stop_all(void *arg)
{
	struct stop *stop = arg;
	int r = 1;

	stop->began_ns = clock_monotonic_ns();
	for (int i = 0; i < MAX_READINGS && r == 1; i++) {
		r = ask_new_threads(stop);
		if (r >= 0)
			wait_for_stops(stop);
	}
	if (r < 0)
		return r;
	stop->incomplete = r == 1;
	vec_foreach(&stop->threads, it)
		it->has_sp =
			it->stopped ? stop_read_registers(it) : stop_read_blocked(stop->pid, it);
	return stop->threads.len ? 0 : -ESRCH;
}

/* seized: by the calling thread; otherwise by one of its own. */
static int begin_stop(pid_t pid, uint64_t limit_ns, bool seized, struct stop **ret_stop)
{
	_cleanup_(stop_free_p) struct stop *stop = calloc(1, sizeof(*stop));
	int r;

	if (!stop)
		return -ENOMEM;
	stop->pid = pid;
	stop->limit_ns = limit_ns;
	r = seized ? 0 : tracer_thread_new(&stop->tracer);
	if (r == 0)
		r = seized ? stop_all(stop) : tracer_thread_call(stop->tracer, stop_all, stop);
	if (r < 0)
		return r;
	*ret_stop = TAKE_PTR(stop);
	return 0;
}

int stop_new(pid_t pid, uint64_t limit_ns, struct stop **ret_stop)
{
	return begin_stop(pid, limit_ns, false, ret_stop);
}

int stop_seized(pid_t pid, uint64_t limit_ns, struct stop **ret_stop)
{
	return begin_stop(pid, limit_ns, true, ret_stop);
}

void stop_free(struct stop *stop)
{
	if (!stop)
		return;
	tracer_thread_free(stop->tracer);
	vec_done(&stop->threads);
	vec_done(&stop->strangers);
	free(stop);
}

uint64_t stop_began_ns(const struct stop *stop)
{
	return stop->began_ns;
}

const struct stopped_thread *stop_threads(const struct stop *stop, size_t *ret_n)
{
	*ret_n = stop->threads.len;
	return stop->threads.data;
}

size_t stop_running(const struct stop *stop)
{
	size_t n = stop->incomplete;

	vec_foreach(&stop->threads, it)
		n += !it->stopped;
	return n;
}

/*
 * The thread that ends the others is in its system call already; while it is running, /proc does
 * not say, and where others are busy, too, that may be for a while. A look takes time by the number
 * of threads, so that not their number is limited, but the time: the thread stands still meanwhile.
 */
#define MOST_LOOKING_NS 200000000
#define LOOK_AT_OTHERS_NS 100000

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
	const struct timespec pause = { .tv_nsec = LOOK_AT_OTHERS_NS };
	struct stopped_thread thread = { .tid = tid, .system_call = -1 };
	uint64_t until_ns;

	if (!stop_look(&thread) || !thread.is_exiting || !stop_read_registers(&thread))
		return THREAD_EXIT_EXEC; /* killed meanwhile */
	if (WIFSIGNALED(thread.exit_status) || thread.system_call == SYS_exit_group)
		return THREAD_EXIT_PROCESS;
	if (thread.system_call == SYS_exit)
		return THREAD_EXIT_ALONE;
	if (thread.exit_status != 0)
		return THREAD_EXIT_PROCESS; /* an exec ends the others with 0 (do_group_exit) */
	until_ns = clock_monotonic_ns() + MOST_LOOKING_NS;
	do {
		int found = others_look_like(pid, tid);

		if (found)
			return found > 0 ? THREAD_EXIT_PROCESS : THREAD_EXIT_EXEC;
		(void)nanosleep(&pause, NULL);
	} while (clock_monotonic_ns() < until_ns);
	return THREAD_EXIT_EXEC;
}
