/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/helper_start.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int helper_isolate(int fd, const int *signals, size_t n)
{
	sigset_t set;
	int null;

	if (fd != HELPER_SOCKET && dup3(fd, HELPER_SOCKET, O_CLOEXEC) < 0)
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* A reader that waits for the end of the daemon's output would wait for us. */
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (null < 0 || dup2(null, i) < 0)
			return -errno;
	if (close_range(HELPER_SOCKET + 1, ~0U, 0) < 0)
		return -errno;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		(void)sigaddset(&set, signals[i]); /* these signals exist */
	/* Who leads a session has one of its own already. */
	(void)setsid();
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

/* The dup in the child clears FD_CLOEXEC, also where both numbers are the same. 0 or an errno. */
static int spawn(const char *name, int socket_fd, pid_t *ret_pid)
{
	char *const argv[] = { (char *)name, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	(void)sigemptyset(&none);
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (r == 0) {
		/* cannot fail: the values are valid */
		(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
		(void)posix_spawnattr_setsigmask(&attributes, &none);
		r = posix_spawn_file_actions_adddup2(&actions, socket_fd, HELPER_SOCKET);
		if (r == 0)
			r = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, argv,
					environ);
		(void)posix_spawnattr_destroy(&attributes); /* cannot fail */
	}
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	return r;
}

int helper_restart(const char *name, pid_t *pid, int *fd)
{
	_cleanup_close_ int ours = -1, theirs = -1;
	int ends[2], r;
	pid_t started;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours = ends[0];
	theirs = ends[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = spawn(name, theirs, &started);
	if (r)
		return -r;
	(void)kill(*pid, SIGKILL); /* it may have ended */
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(*fd);
	*fd = TAKE_FD(ours);
	*pid = started;
	return 0;
}
