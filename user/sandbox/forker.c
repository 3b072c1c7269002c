/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/forker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
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

/*
 * Starts this program in the role `name` in place of `*pid`, which has closed its socket: it is
 * killed and waited for. *pid and *fd (closed, and replaced by the new one's non-blocking socket)
 * are changed upon success alone. 0 or negative errno.
 */
static int restart(const char *name, pid_t *pid, int *fd)
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

#define MAX_STARTS 16
#define START_NS (10 * SECOND_NS)

void start_budget_init(struct start_budget *budget, uint64_t now_ns)
{
	*budget = (struct start_budget){ .left = MAX_STARTS, .refilled_ns = now_ns };
}

static void refill(struct start_budget *budget, uint64_t now_ns)
{
	while (budget->left < MAX_STARTS && now_ns - budget->refilled_ns >= START_NS) {
		budget->left++;
		budget->refilled_ns += START_NS;
	}
	if (budget->left == MAX_STARTS)
		budget->refilled_ns = now_ns;
}

bool start_budget_take(struct start_budget *budget, uint64_t now_ns)
{
	refill(budget, now_ns);
	if (budget->left == 0)
		return false;
	budget->left--;
	return true;
}

int forker_begin(struct forker *forker, const char *role, forker_fn fn, const void *userdata)
{
	_cleanup_close_ int own = -1, its = -1;
	pid_t parent = getpid();
	int ends[2];

	*forker = (struct forker){ .role = role, .pid = -1, .fd = -1 };
	start_budget_init(&forker->restarts, clock_monotonic_ns());
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	own = ends[0];
	its = ends[1];
	if (fcntl(own, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	forker->pid = fork();
	/* What its caller forks meanwhile has the socket, too, which then does not tell the end. */
	if (forker->pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		_exit(1);
	if (forker->pid == 0)
		fn(its, userdata);
	if (forker->pid < 0)
		return -errno;
	forker->fd = TAKE_FD(own);
	return 0;
}

bool forked_has_ended(int fd)
{
	struct pollfd poll_fd = { .fd = fd };

	return poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & (POLLHUP | POLLERR);
}

bool forker_has_ended(const struct forker *forker)
{
	return forked_has_ended(forker->fd);
}

int forker_restart(struct forker *forker)
{
	pid_t pid = forker->pid;
	int r = -EAGAIN;

	if (forker->role && start_budget_take(&forker->restarts, clock_monotonic_ns()))
		r = restart(forker->role, &pid, &forker->fd);
	if (r < 0)
		return r;
	__atomic_store_n(&forker->pid, pid, __ATOMIC_RELAXED);
	__atomic_store_n(&forker->n_restarts, forker->n_restarts + 1, __ATOMIC_RELAXED);
	log_debug("%s was killed, and started again", forker->role);
	return 0;
}

pid_t forker_pid(const struct forker *forker)
{
	return __atomic_load_n(&forker->pid, __ATOMIC_RELAXED);
}

unsigned int forker_restarts(const struct forker *forker)
{
	return __atomic_load_n(&forker->n_restarts, __ATOMIC_RELAXED);
}
