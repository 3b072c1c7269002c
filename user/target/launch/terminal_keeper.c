/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/launch/terminal_keeper.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The descriptors that the keeper has in the end; the sentinel has the first one only. */
enum { CONTROL, OUTER, MASTER, SLAVE, KEEPER_FDS };

struct keeper {
	pid_t job;
	pid_t foreground; /* what the command had there when the job was put into the background */
	struct terminal_order last;
	char output[TERMINAL_OUTPUT_BYTES]; /* of the command: first of all */
	size_t n_output;
};

/* fork(2) without what the C library does besides; CLONE_PARENT: a child of our parent's. */
static pid_t clone_process(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);

	return pid < 0 ? -errno : (pid_t)pid;
}

static bool keep_only_fds(const int *fds, int n)
{
	/* All are above the standard streams' numbers: dup2 closes nothing that is needed. */
	for (int i = 0; i < n; i++)
		if (fds[i] != i && dup2(fds[i], i) < 0)
			return false;
	return close_range((unsigned int)n, ~0U, 0) == 0;
}

static void send_all(const void *message, size_t len)
{
	while (send(CONTROL, message, len, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* --- the sentinel ---------------------------------------------------------------------------- */

static _Noreturn void sentinel_run(int control, pid_t keeper)
{
	sigset_t set;
	int sig;

	(void)prctl(PR_SET_NAME, "memtraced-job"); /* for ps(1) */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != keeper ||
	    !keep_only_fds(&control, 1))
		_exit(1);
	for (;;)
		if (sigwait(&set, &sig) == 0)
			send_all(&sig, sizeof(sig));
}

/* --- the keeper ------------------------------------------------------------------------------ */

static int start_sentinel(int control, pid_t *ret_job)
{
	pid_t keeper = getpid(), pid = clone_process(0);

	if (pid == 0)
		sentinel_run(control, keeper);
	if (pid < 0)
		return pid;
	*ret_job = pid;
	return setpgid(pid, pid) < 0 ? -errno : 0;
}

static _Noreturn void command_run(const struct launch_child *child, pid_t job)
{
	if (setpgid(0, job) < 0)
		_exit(1); /* memtraced sees the end of its socket */
	launch_child_run(child);
}

static int start_session(const struct terminal_keeper *keeper, const struct launch_child *child,
			 struct terminal_keeper_started *started)
{
	int r;

	if (setsid() < 0 || ioctl(keeper->terminal->slave, TIOCSCTTY, 0) < 0)
		return -errno;
	r = start_sentinel(keeper->control, &started->job);
	if (r < 0)
		return r;
	started->pid = clone_process(CLONE_PARENT);
	if (started->pid == 0)
		command_run(child, started->job);
	return started->pid < 0 ? started->pid : 0;
}

static void set_foreground(struct keeper *keeper, bool is_job)
{
	pid_t now = tcgetpgrp(SLAVE), own = getpgrp();

	if (is_job && now == own) {
		(void)tcsetpgrp(SLAVE, keeper->foreground); /* that group may have ended */
	} else if (!is_job && now != own) {
		keeper->foreground = now;
		(void)tcsetpgrp(SLAVE, own);
	}
}

static void follow(struct keeper *keeper, const struct terminal_order *order)
{
	keeper->last = *order;
	/* The process group keeps its number as long as the sentinel is not waited for. */
	if (order->orphan)
		(void)kill(keeper->job, SIGKILL);
	set_foreground(keeper, order->is_foreground);
	if (order->resume)
		(void)kill(-keeper->job, SIGCONT);
}

/* Until memtraced has closed its end. */
static void serve_terminal(struct keeper *keeper)
{
	const int done = TERMINAL_ORDER_DONE;
	struct terminal_order order;
	struct iovec parts[] = { { &order, sizeof(order) },
				 { keeper->output, sizeof(keeper->output) } };
	ssize_t n;

	for (;;) {
		n = readv(CONTROL, parts, 2);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)sizeof(order))
			return;
		keeper->n_output = (size_t)n - sizeof(order);
		follow(keeper, &order);
		send_all(&done, sizeof(done));
	}
}

/* False when it has hung up. */
static bool write_outer(const char *data, size_t len)
{
	struct pollfd outer = { .fd = OUTER, .events = POLLOUT };

	while (len > 0) {
		ssize_t n = write(OUTER, data, len);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n < 0 && poll(&outer, 1, -1) < 0 && errno != EINTR)
			return false;
		data += n < 0 ? 0 : n;
		len -= n < 0 ? 0 : (size_t)n;
	}
	return true;
}

/* Until nothing has the slave open, or the outer terminal has hung up: then false. */
static bool relay_output(void)
{
	struct pollfd fds[] = { { .fd = MASTER, .events = POLLIN }, { .fd = OUTER } };
	char data[4096];

	for (;;) {
		ssize_t n = read(MASTER, data, sizeof(data));

		if (n > 0 && !write_outer(data, (size_t)n))
			return false;
		if (n > 0)
			continue;
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return true;
		if (poll(fds, 2, -1) > 0 && fds[1].revents)
			return false;
	}
}

_Noreturn void terminal_keeper_run(const struct terminal_keeper *opts,
				   const struct launch_child *child)
{
	const int fds[] = { opts->control, opts->terminal->outer, opts->terminal->master,
			    opts->terminal->slave };
	struct terminal_keeper_started started = { 0 };
	struct keeper keeper = { 0 };

	(void)prctl(PR_SET_NAME, "memtraced-term"); /* for ps(1) */
	close(opts->parent_control);
	close(child->parent_socket);
	started.error = -start_session(opts, child, &started);
	keeper.job = keeper.foreground = started.job;
	if (!keep_only_fds(fds, KEEPER_FDS))
		_exit(1);
	send_all(&started, sizeof(started));
	if (started.error)
		_exit(1);
	serve_terminal(&keeper);
	/* It is not our controlling terminal: the kernel does not ask who is in its foreground. */
	if (keeper.last.is_foreground)
		(void)tcsetattr(OUTER, TCSANOW, &keeper.last.modes); /* it may have hung up */
	follow(&keeper, &(struct terminal_order){ .orphan = true });
	close(SLAVE);
	if (!write_outer(keeper.output, keeper.n_output) || !relay_output())
		(void)kill(-keeper.job, SIGHUP);
	_exit(0);
}
