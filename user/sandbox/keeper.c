/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/keeper.h"

#include "base/clock.h"
#include "sandbox/keeper_process.h"
#include "sandbox/message.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* It only forks, and waits 0.1 s at most for what it killed. */
#define ANSWER_NS (2 * SECOND_NS)
#define MAX_ANSWER_BYTES 16

struct keeper {
	pid_t pid;
	int fd;
	pthread_mutex_t lock; /* one request at a time */
	unsigned int n_late;  /* answers for which nobody waits any more */
};

int keeper_new(const struct worker_ops *ops, struct keeper **ret_keeper)
{
	_cleanup_(keeper_free_p) struct keeper *keeper = calloc(1, sizeof(*keeper));
	int ends[2], r;

	if (!keeper)
		return -ENOMEM;
	keeper->pid = -1;
	keeper->fd = -1;
	(void)pthread_mutex_init(&keeper->lock, NULL); /* cannot fail with default attributes */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	keeper->fd = ends[0];
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		close(ends[1]);
		return -errno;
	}
	keeper->pid = fork();
	if (keeper->pid == 0)
		keeper_process(ops, ends[1]);
	r = keeper->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (r < 0)
		return r;
	*ret_keeper = TAKE_PTR(keeper);
	return 0;
}

void keeper_free(struct keeper *keeper)
{
	if (!keeper)
		return;
	if (keeper->fd >= 0)
		close(keeper->fd);
	while (keeper->pid > 0 && waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)pthread_mutex_destroy(&keeper->lock); /* nobody holds it */
	free(keeper);
}

/* An answer that did not come in time. A worker that came with it ends as its socket does. */
static int receive_late(struct keeper *keeper, uint64_t deadline_ns)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct message_fds fds = {};
	int r = message_receive(keeper->fd, MAX_ANSWER_BYTES, deadline_ns, &answer, &fds);

	message_fds_close(&fds);
	if (r == 0)
		keeper->n_late--;
	return r;
}

static int ask_locked(struct keeper *keeper, const struct strbuf *message, struct strbuf *answer,
		      struct message_fds *fds)
{
	uint64_t deadline_ns = clock_monotonic_ns() + ANSWER_NS;
	int r = 0;

	while (r == 0 && keeper->n_late > 0)
		r = receive_late(keeper, deadline_ns);
	if (r == 0)
		r = message_send(keeper->fd, message, NULL, 0, deadline_ns);
	if (r < 0)
		return r;
	/* Both are so short that they are sent in one piece or not at all. */
	r = message_receive(keeper->fd, MAX_ANSWER_BYTES, deadline_ns, answer, fds);
	keeper->n_late += r == -ETIMEDOUT;
	return r;
}

/* `fds` NULL: none come. */
static int ask(struct keeper *keeper, enum keeper_request request, pid_t pid, struct strbuf *answer,
	       struct message_fds *fds)
{
	_cleanup_strbuf_ struct strbuf message = {};
	int r;

	wire_put_u8(&message, (uint8_t)request);
	wire_put_u32(&message, (uint32_t)pid);
	r = strbuf_error(&message);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&keeper->lock); /* cannot fail: no thread locks it twice */
	r = ask_locked(keeper, &message, answer, fds);
	(void)pthread_mutex_unlock(&keeper->lock);
	return r;
}

int keeper_start(struct keeper *keeper, int *ret_fd, pid_t *ret_pid)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct message_fds fds = {};
	struct wire_reader reader;
	int r = ask(keeper, KEEPER_START, 0, &answer, &fds);
	pid_t pid;

	if (r < 0)
		return r;
	reader = wire_read(&answer);
	pid = (pid_t)wire_get_u32(&reader);
	if (!wire_is_read(&reader) || fds.n != 1 || pid <= 0 ||
	    fcntl(fds.fds[0], F_SETFL, O_NONBLOCK) < 0) {
		message_fds_close(&fds);
		return -EAGAIN;
	}
	*ret_fd = fds.fds[0];
	*ret_pid = pid;
	return 0;
}

int keeper_stop(struct keeper *keeper, pid_t pid, int *ret_status)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct wire_reader reader;
	bool has_ended;
	int r = ask(keeper, KEEPER_STOP, pid, &answer, NULL);

	if (r < 0)
		return r;
	reader = wire_read(&answer);
	has_ended = wire_get_bool(&reader);
	*ret_status = (int)wire_get_u32(&reader);
	if (!wire_is_read(&reader))
		return -EBADMSG;
	return has_ended ? 0 : -EINPROGRESS;
}

pid_t keeper_pid(const struct keeper *keeper)
{
	return keeper->pid;
}
