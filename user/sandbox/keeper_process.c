/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/keeper_process.h"

#include "base/clock.h"
#include "sandbox/confine.h"
#include "sandbox/forker.h"
#include "sandbox/message.h"
#include "sandbox/work_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MAX_REQUEST_BYTES (1 << 20)
#define MAX_KEEPER_REQUEST_BYTES 5

/* One for each trace ([trace] max_traces is 64 at most), and for what the service does itself. */
#define MAX_WORKERS 80
/*
 * Workers that were killed and have not ended: freeing gigabytes takes a moment, and the kernel may
 * wait for a file system that does not answer. With more of them no more workers are started.
 */
#define MAX_ENDING 16
/* How long the daemon waits for one that it has killed. */
#define END_NS (SECOND_NS / 10)

static const struct field order_fields[] = {
	F_MAX(keeper_order, what, FIELD_U8, KEEPER_STOP),
	F(keeper_order, pid, FIELD_U32),
	F_END,
};
const struct layout keeper_order_layout = LAYOUT(keeper_order, order_fields);

static const struct field stopped_fields[] = {
	F(keeper_stopped, has_ended, FIELD_BOOL),
	F(keeper_stopped, status, FIELD_U32),
	F_END,
};
const struct layout keeper_stopped_layout = LAYOUT(keeper_stopped, stopped_fields);

/* --- the worker ------------------------------------------------------------------------------ */

/* When memory is short, it shall be the worker that dies of it. */
static void offer_to_oom_killer(void)
{
	static const char most[] = "1000";
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : write(fd, most, sizeof(most) - 1);

	/* Without, it is as likely as others. */
	(void)n;
}

static int answer_one(const struct worker_ops *ops, void *state, int fd, struct strbuf *request,
		      struct strbuf *answer)
{
	struct message_fds fds;
	int r = message_receive(fd, MAX_REQUEST_BYTES, MESSAGE_NEVER, request, &fds);

	if (r < 0)
		return r;
	strbuf_reset(answer);
	work_limit_set(work_limit_ns(fds.fds, fds.n));
	r = ops->serve(state, request, fds.fds, fds.n, answer);
	work_limit_set(0);
	message_fds_close(&fds);
	if (r == 0)
		r = strbuf_error(answer);
	return r < 0 ? r : message_send(fd, answer, NULL, 0, MESSAGE_NEVER);
}

/* By which work_limit_set() ends it, whatever the daemon has inherited. */
static int restore_sigprof(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGPROF); /* this signal exists */
	if (signal(SIGPROF, SIG_DFL) == SIG_ERR || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0)
		return -errno;
	return 0;
}

static _Noreturn void run_worker(const struct worker_ops *ops, int fd)
{
	struct strbuf request = {}, answer = {};
	void *state;
	int r;

	(void)prctl(PR_SET_NAME, "memtraced-parse"); /* for ps(1) */
	/* As the keeper's child it ends with it; were that gone already, its socket would be. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    restore_sigprof() < 0 || ops->new (&state) < 0 || confine_system_calls() < 0)
		_exit(WORKER_EXIT_CONFINE);
	do
		r = answer_one(ops, state, fd, &request, &answer);
	while (r == 0);
	_exit(r == -EPIPE ? WORKER_EXIT_OVER : WORKER_EXIT_NO_MEMORY);
}

/* --- the keeper ------------------------------------------------------------------------------ */

struct child {
	pid_t pid;
	bool is_ending; /* killed, or without a user: it is waited for when there is time */
};

struct children {
	struct child list[MAX_WORKERS + MAX_ENDING];
	size_t n, n_ending;
};

static void forget_child(struct children *children, struct child *child)
{
	children->n_ending -= child->is_ending;
	*child = children->list[--children->n];
}

/* Those that were killed, and those that have ended as the daemon closed their sockets. */
static void forget_ended(struct children *children)
{
	for (size_t i = children->n; i-- > 0;) {
		struct child *child = &children->list[i];
		siginfo_t info = { 0 };

		if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    info.si_pid == child->pid &&
		    (child->is_ending ||
		     (info.si_code == CLD_EXITED && info.si_status == WORKER_EXIT_OVER)) &&
		    waitpid(child->pid, NULL, WNOHANG) == child->pid)
			forget_child(children, child);
	}
}

/* SIGCHLD is blocked, and stays pending when it comes between. False: it has not ended in time. */
static bool wait_for_end(pid_t pid, uint64_t deadline_ns, int *ret_status)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD); /* this signal exists */
	for (;;) {
		uint64_t now = clock_monotonic_ns();
		struct timespec left = {};

		if (waitpid(pid, ret_status, WNOHANG) == pid)
			return true;
		if (now >= deadline_ns)
			return false;
		left.tv_nsec = (long)(deadline_ns - now); /* END_NS is less than a second */
		(void)sigtimedwait(&set, NULL, &left);	  /* how it ends is asked above */
	}
}

/* False: it has not ended yet. */
static bool stop_worker(struct children *children, pid_t pid, int *ret_status)
{
	struct child *child = NULL;

	for (size_t i = 0; !child && i < children->n; i++)
		if (children->list[i].pid == pid)
			child = &children->list[i];
	*ret_status = 0;
	if (!child)
		return true;
	(void)kill(pid, SIGKILL); /* it may have ended: then it is there to be waited for */
	if (!wait_for_end(pid, clock_monotonic_ns() + END_NS, ret_status)) {
		children->n_ending += !child->is_ending;
		child->is_ending = true;
		return false;
	}
	forget_child(children, child);
	return true;
}

static void stop_all(struct children *children)
{
	uint64_t deadline_ns = clock_monotonic_ns() + END_NS;

	for (size_t i = 0; i < children->n; i++)
		(void)kill(children->list[i].pid, SIGKILL); /* it may have ended */
	/* What the kernel holds back has another parent then. */
	for (size_t i = 0; i < children->n; i++)
		(void)wait_for_end(children->list[i].pid, deadline_ns, &(int){ 0 });
}

/* The socket's other end, -1 when there is no worker. */
static int start_worker(const struct worker_ops *ops, struct children *children, pid_t *ret_pid)
{
	int ends[2];
	pid_t pid;

	if (children->n_ending >= MAX_ENDING || children->n - children->n_ending >= MAX_WORKERS ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		close(HELPER_SOCKET);
		offer_to_oom_killer();
		run_worker(ops, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -1;
	}
	children->list[children->n++] = (struct child){ .pid = pid };
	*ret_pid = pid;
	return ends[0];
}

static int serve_daemon(const struct worker_ops *ops, const struct strbuf *request,
			struct children *children)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct keeper_stopped stopped = {};
	struct keeper_order order;
	_cleanup_close_ int fd = -1;
	pid_t pid = 0;

	if (codec_read_all(request, &keeper_order_layout, &order) < 0)
		return -EBADMSG;
	forget_ended(children);
	if (order.what == KEEPER_START) {
		fd = start_worker(ops, children, &pid);
		codec_write(&answer, &codec_u32, &pid, NULL);
	} else {
		stopped.has_ended = stop_worker(children, order.pid, &stopped.status);
		codec_write(&answer, &keeper_stopped_layout, &stopped, NULL);
	}
	return strbuf_error(&answer) ?
		       -ENOMEM :
		       message_send(HELPER_SOCKET, &answer, &fd, fd < 0 ? 0 : 1, MESSAGE_NEVER);
}

/*
 * It ends when its socket does, not by what a terminal or a service manager sends to all. Ends of
 * workers are waited for (wait_for_end), for which SIGCHLD must not be ignored.
 */
static int isolate(int fd)
{
	static const int sent[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1, SIGCHLD };

	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR)
		return -errno;
	return helper_isolate(fd, sent, sizeof(sent) / sizeof(sent[0]));
}

_Noreturn void keeper_process(const struct worker_ops *ops, int fd)
{
	struct strbuf request = {};
	struct children children = {};

	(void)prctl(PR_SET_NAME, KEEPER_COMM);
	if (isolate(fd) < 0 || confine_capabilities() < 0)
		_exit(WORKER_EXIT_CONFINE);
	while (message_receive(HELPER_SOCKET, MAX_KEEPER_REQUEST_BYTES, MESSAGE_NEVER, &request,
			       NULL) == 0)
		if (serve_daemon(ops, &request, &children) < 0)
			break;
	stop_all(&children);
	_exit(WORKER_EXIT_OVER);
}
