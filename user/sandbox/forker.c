/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/forker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "sandbox/helper_start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

int forker_begin(struct forker *forker, const char *role, forker_fn fn, const void *userdata)
{
	_cleanup_close_ int own = -1, its = -1;
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
		r = helper_restart(forker->role, &pid, &forker->fd);
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
