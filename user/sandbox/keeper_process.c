/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/keeper_process.h"

#include "sandbox/confine.h"
#include "sandbox/message.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MAX_REQUEST_BYTES (1 << 20)

/* The descriptors that the keeper keeps, and the worker beside its socket: streams of nothing. */
enum { KEEPER_SOCKET = STDERR_FILENO + 1, KEEPER_FDS };

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
	r = ops->serve(state, request, fds.fds, fds.n, answer);
	message_fds_close(&fds);
	if (r == 0)
		r = strbuf_error(answer);
	return r < 0 ? r : message_send(fd, answer, NULL, 0, MESSAGE_NEVER);
}

static _Noreturn void work(const struct worker_ops *ops, int fd)
{
	struct strbuf request = {}, answer = {};
	void *state;
	int r;

	(void)prctl(PR_SET_NAME, "memtraced-parse"); /* for ps(1) */
	/* As the keeper's child it ends with it; were that gone already, its socket would be. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    ops->new (&state) < 0 || confine_system_calls() < 0)
		_exit(WORKER_EXIT_CONFINE);
	do
		r = answer_one(ops, state, fd, &request, &answer);
	while (r == 0);
	_exit(r == -EPIPE ? WORKER_EXIT_OVER : WORKER_EXIT_NO_MEMORY);
}

/* --- the keeper ------------------------------------------------------------------------------ */

static int stop_worker(pid_t *pid)
{
	int status = 0;

	if (*pid <= 0)
		return 0;
	(void)kill(*pid, SIGKILL); /* it may have ended: then it is there to be waited for */
	while (waitpid(*pid, &status, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
	return status;
}

/* The socket's other end, -1 when there is no worker. */
static int start_worker(const struct worker_ops *ops, pid_t *pid)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	*pid = fork();
	if (*pid == 0) {
		close(ends[0]);
		close(KEEPER_SOCKET);
		offer_to_oom_killer();
		work(ops, ends[1]);
	}
	close(ends[1]);
	if (*pid > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

static int serve_daemon(const struct worker_ops *ops, enum keeper_request request, pid_t *pid)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	int status = stop_worker(pid);
	_cleanup_close_ int fd = request == KEEPER_START ? start_worker(ops, pid) : -1;

	if (request == KEEPER_START)
		wire_put_u32(&answer, fd < 0 ? 0 : (uint32_t)*pid);
	else
		wire_put_u32(&answer, (uint32_t)status);
	return strbuf_error(&answer) ?
		       -ENOMEM :
		       message_send(KEEPER_SOCKET, &answer, &fd, fd < 0 ? 0 : 1, MESSAGE_NEVER);
}

/* Nothing of the daemon's must be held: who waits for the end of its output would wait for us. */
static int keep_socket_alone(int fd)
{
	int null;

	if (fd != KEEPER_SOCKET && dup3(fd, KEEPER_SOCKET, O_CLOEXEC) < 0)
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (null < 0 || dup2(null, i) < 0)
			return -errno;
	return close_range(KEEPER_FDS, ~0U, 0) < 0 ? -errno : 0;
}

/* It ends when its socket does, not by what a terminal or a service manager sends to all. */
static int leave_session(void)
{
	static const int sent[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1 };
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		(void)sigaddset(&set, sent[i]); /* these signals exist */
	/* Who leads a session has one of its own already. */
	(void)setsid();
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

_Noreturn void keeper_process(const struct worker_ops *ops, int fd)
{
	struct strbuf request = {};
	pid_t worker = 0;

	(void)prctl(PR_SET_NAME, KEEPER_COMM);
	if (keep_socket_alone(fd) < 0 || leave_session() < 0 || confine_capabilities() < 0)
		_exit(WORKER_EXIT_CONFINE);
	while (message_receive(KEEPER_SOCKET, 1, MESSAGE_NEVER, &request, NULL) == 0) {
		struct wire_reader reader = wire_read(&request);

		if (serve_daemon(ops, wire_get_u8(&reader), &worker) < 0)
			break;
	}
	(void)stop_worker(&worker);
	_exit(WORKER_EXIT_OVER);
}
