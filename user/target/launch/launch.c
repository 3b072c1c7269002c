/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/launch/launch.h"

#include "config/words.h"
#include "target/launch/launch_child.h"
#include "target/launch/terminal_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct launch {
	pid_t pid;
	int pidfd;
	int socket;
	struct launch_terminal terminal;
	struct launch_pty pty; /* without a job: none */
	bool released;
	int exec_result;
};

static void identity_done_p(struct identity *identity)
{
	identity_done(identity);
}

static void words_free_p(char ***words)
{
	words_free(*words);
}

/*
 * memtraced may have been started with stdin, stdout or stderr closed: ours must not take their
 * numbers, which the child redirects.
 */
static int move_above_stdio(int *fd)
{
	int moved;

	if (*fd > STDERR_FILENO)
		return 0;
	moved = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (moved < 0)
		return -errno;
	close(*fd);
	*fd = moved;
	return 0;
}

/*
 * The command, or with `keeper` that, which starts the command. No signal handler may run in the
 * child, which has the parent's.
 */
static pid_t fork_blocked(const struct launch_child *child, const struct terminal_keeper *keeper)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return -EINVAL;
	pid = fork();
	if (pid == 0 && keeper)
		terminal_keeper_run(keeper, child);
	if (pid == 0)
		launch_child_run(child);
	if (pid < 0)
		pid = -errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* By descriptor: target/hold may have reaped the child, and its pid be another's by now. */
static void kill_and_reap(int pidfd)
{
	siginfo_t info;

	(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	for (;;) {
		if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		/* Who traces the child may get a stop before its end. */
		if (info.si_code != CLD_TRAPPED)
			return;
	}
}

/* One int from the child: 1 and *ret_message, 0 when its end is closed, or negative errno. */
static int receive(int socket, int flags, int *ret_message)
{
	ssize_t n;

	do
		n = recv(socket, ret_message, sizeof(*ret_message), flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	return n == sizeof(*ret_message);
}

static int open_sockets(int *ret_ours, int *ret_theirs)
{
	int ends[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	r = move_above_stdio(ret_ours);
	return r < 0 ? r : move_above_stdio(ret_theirs);
}

/* A command with a terminal of its own: its pid or negative errno. */
static pid_t fork_keeper(const struct launch_child *child, struct launch *launch)
{
	_cleanup_close_ int ours = -1;
	_cleanup_close_ int theirs = -1;
	struct terminal_keeper_started started;
	struct terminal_keeper keeper;
	pid_t pid;
	ssize_t n;
	int r = open_sockets(&ours, &theirs);

	if (r < 0)
		return r;
	keeper = (struct terminal_keeper){ &launch->terminal, theirs, ours };
	pid = fork_blocked(child, &keeper);
	if (pid < 0)
		return pid;
	close(TAKE_FD(theirs));
	/* The keeper has it from now on. */
	close(TAKE_FD(launch->terminal.slave));
	do
		n = recv(ours, &started, sizeof(started), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(started) || started.error) {
		(void)waitpid(pid, NULL, 0);
		return n == (ssize_t)sizeof(started) ? -started.error : -ECHILD;
	}
	launch->pty = (struct launch_pty){
		.outer = launch->terminal.outer,
		.master = launch->terminal.master,
		.control = TAKE_FD(ours),
		.job = started.job,
	};
	return started.pid;
}

static int start_child(const struct launch_opts *opts, struct launch_child *child,
		       struct launch *launch)
{
	_cleanup_close_ int ours = -1;
	_cleanup_close_ int theirs = -1;
	_cleanup_close_ int pidfd = -1;
	int message = 0, r = open_sockets(&ours, &theirs);
	pid_t pid;

	if (r < 0)
		return r;
	child->argv = opts->argv;
	child->stdout_to_stderr = opts->stdout_to_stderr;
	child->socket = theirs;
	child->parent_socket = ours;
	if (child->terminal->slave >= 0)
		pid = fork_keeper(child, launch);
	else
		pid = fork_blocked(child, NULL);
	if (pid < 0)
		return pid;
	close(TAKE_FD(theirs));
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		r = -errno;
		close(TAKE_FD(ours)); /* ends the child */
		(void)waitpid(pid, NULL, 0);
		return r;
	}
	r = receive(ours, 0, &message);
	if (r <= 0 || message) {
		kill_and_reap(pidfd);
		if (r < 0)
			return r;
		return r > 0 ? -message : -ECHILD;
	}
	launch->pid = pid;
	launch->pidfd = TAKE_FD(pidfd);
	launch->socket = TAKE_FD(ours);
	launch->exec_result = -EINPROGRESS;
	return 0;
}

void launch_close_pty(struct launch *launch)
{
	if (launch->pty.job)
		close(launch->pty.control);
	launch->pty = (struct launch_pty){ .outer = -1, .master = -1, .control = -1 };
	launch_terminal_done(&launch->terminal);
}

void launch_continue(const struct launch *launch)
{
	if (getpgid(launch->pid) != launch->pty.job)
		(void)pidfd_send_signal(launch->pidfd, SIGCONT, NULL, 0); /* it may have ended */
}

/* Of one that was not started. */
static void launch_done(struct launch *launch)
{
	if (!launch)
		return;
	launch_close_pty(launch);
	free(launch);
}
DEFINE_CLEANUP(struct launch, launch_done)

int launch_new(const struct launch_opts *opts, struct launch **ret_launch)
{
	_cleanup_(identity_done_p) struct identity identity = { 0 };
	_cleanup_(words_free_p) char **environment = NULL;
	_cleanup_(launch_done_p) struct launch *launch = NULL;
	struct launch_inherited now;
	struct launch_child child = { .identity = &identity, .inherited = opts->inherited };
	int r;

	if (!opts->argv[0])
		return -ENOENT;
	launch = calloc(1, sizeof(*launch));
	if (!launch)
		return -ENOMEM;
	launch->terminal = (struct launch_terminal)LAUNCH_TERMINAL_NONE;
	child.terminal = &launch->terminal;
	if (!child.inherited) {
		r = launch_inherited_save(&now);
		if (r < 0)
			return r;
		child.inherited = &now;
	}
	r = identity_resolve(opts->run_as, &identity);
	if (r == 0)
		r = identity_environment(&identity, environ, opts->env_set, &environment);
	/* Root may do what it likes with any terminal. */
	if (r == 0 && identity.change && identity.uid != 0)
		r = launch_terminal_open(identity.uid, &launch->terminal);
	if (r < 0)
		return r;
	child.environment = environment;
	r = start_child(opts, &child, launch);
	if (r < 0)
		return r;
	*ret_launch = TAKE_PTR(launch);
	return 0;
}

pid_t launch_pid(const struct launch *launch)
{
	return launch->pid;
}

const struct launch_pty *launch_pty(const struct launch *launch)
{
	return launch->pty.job ? &launch->pty : NULL;
}

int launch_release(struct launch *launch)
{
	const int message = 0;
	ssize_t n;

	do
		n = send(launch->socket, &message, sizeof(message), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EPIPE || errno == ECONNRESET ? -ESRCH : -errno;
	launch->released = true;
	return 0;
}

int launch_exec_result(struct launch *launch)
{
	int message, r;

	if (launch->exec_result != -EINPROGRESS || !launch->released)
		return launch->exec_result;
	r = receive(launch->socket, MSG_DONTWAIT, &message);
	if (r == -EAGAIN)
		return -EINPROGRESS;
	launch->exec_result = r > 0 ? -message : r;
	return launch->exec_result;
}

void launch_free(struct launch *launch)
{
	if (!launch)
		return;
	close(launch->socket);
	if (!launch->released)
		kill_and_reap(launch->pidfd);
	close(launch->pidfd);
	launch_done(launch);
}

const char *launch_value(const char *const *env_set, const char *name)
{
	const char *value = getenv(name);
	size_t len = strlen(name);

	for (const char *const *word = env_set; word && *word; word++)
		if (strncmp(*word, name, len) == 0 && (*word)[len] == '=')
			value = *word + len + 1;
	return value;
}
