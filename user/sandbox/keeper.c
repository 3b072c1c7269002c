/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/keeper.h"

#include "base/clock.h"
#include "sandbox/keeper_process.h"
#include "sandbox/message.h"
#include "sandbox/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* It only forks and waits for what it killed. */
#define ANSWER_NS UINT64_C(10000000000)
#define MAX_ANSWER_BYTES 16

struct keeper {
	pid_t pid;
	int fd;
};

int keeper_new(const struct worker_ops *ops, struct keeper **ret_keeper)
{
	_cleanup_(keeper_free_p) struct keeper *keeper = calloc(1, sizeof(*keeper));
	int ends[2], r;

	if (!keeper)
		return -ENOMEM;
	keeper->pid = -1;
	keeper->fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	keeper->fd = ends[0];
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
	free(keeper);
}

static int ask(struct keeper *keeper, enum keeper_request request, struct wire_reader *ret_reader,
	       struct strbuf *answer, struct message_fds *fds)
{
	uint64_t deadline_ns = clock_monotonic_ns() + ANSWER_NS;
	_cleanup_strbuf_ struct strbuf message = {};
	int r;

	wire_put_u8(&message, (uint8_t)request);
	r = strbuf_error(&message);
	if (r == 0)
		r = message_send(keeper->fd, &message, NULL, 0, deadline_ns);
	if (r == 0)
		r = message_receive(keeper->fd, MAX_ANSWER_BYTES, deadline_ns, answer, fds);
	if (r == 0)
		*ret_reader = wire_read(answer);
	return r;
}

int keeper_start(struct keeper *keeper, int *ret_fd, pid_t *ret_pid)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct message_fds fds = {};
	struct wire_reader reader;
	int r = ask(keeper, KEEPER_START, &reader, &answer, &fds);
	pid_t pid;

	if (r < 0)
		return r;
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

int keeper_stop(struct keeper *keeper, int *ret_status)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct wire_reader reader;
	int r = ask(keeper, KEEPER_STOP, &reader, &answer, NULL);

	if (r < 0)
		return r;
	*ret_status = (int)wire_get_u32(&reader);
	return wire_is_read(&reader) ? 0 : -EBADMSG;
}

pid_t keeper_pid(const struct keeper *keeper)
{
	return keeper->pid;
}
