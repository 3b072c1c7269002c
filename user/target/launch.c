/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/launch.h"

#include "target/launch_child.h"

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
	bool released;
	int exec_result;
};

static void identity_done_p(struct identity *identity)
{
	identity_done(identity);
}

static void environment_free_p(char ***environment)
{
	environment_free(*environment);
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

/* No signal handler may run in the child, which has the parent's. */
static pid_t fork_blocked(const struct launch_child *child)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return -EINVAL;
	pid = fork();
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

static int start(const struct launch_opts *opts, struct launch_child *child, struct launch *launch)
{
	_cleanup_close_ int ours = -1;
	_cleanup_close_ int theirs = -1;
	_cleanup_close_ int pidfd = -1;
	int ends[2], message = 0, r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours = ends[0];
	theirs = ends[1];
	r = move_above_stdio(&ours);
	if (r == 0)
		r = move_above_stdio(&theirs);
	if (r < 0)
		return r;
	child->argv = opts->argv;
	child->stdout_to_stderr = opts->stdout_to_stderr;
	child->socket = theirs;
	child->parent_socket = ours;
	pid = fork_blocked(child);
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

int launch_new(const struct launch_opts *opts, struct launch **ret_launch)
{
	_cleanup_(identity_done_p) struct identity identity = { 0 };
	_cleanup_(environment_free_p) char **environment = NULL;
	_cleanup_free_ struct launch *launch = NULL;
	struct launch_inherited now;
	struct launch_child child = { .identity = &identity, .inherited = opts->inherited };
	int r;

	if (!opts->argv[0])
		return -ENOENT;
	launch = calloc(1, sizeof(*launch));
	if (!launch)
		return -ENOMEM;
	if (!child.inherited) {
		r = launch_inherited_save(&now);
		if (r < 0)
			return r;
		child.inherited = &now;
	}
	r = identity_resolve(opts->run_as, &identity);
	if (r == 0)
		r = identity_environment(&identity, environ, opts->env_set, &environment);
	if (r < 0)
		return r;
	child.environment = environment;
	r = start(opts, &child, launch);
	if (r < 0)
		return r;
	*ret_launch = TAKE_PTR(launch);
	return 0;
}

pid_t launch_pid(const struct launch *launch)
{
	return launch->pid;
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
	free(launch);
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
