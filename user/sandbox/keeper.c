/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/keeper.h"

#include "base/clock.h"
#include "sandbox/forker.h"
#include "sandbox/keeper_process.h"
#include "sandbox/message.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

/* It only forks, and waits 0.1 s at most for what it killed. */
#define ANSWER_NS (2 * SECOND_NS)
#define MAX_ANSWER_BYTES 16

struct keeper {
	const struct worker_ops *ops;
	pthread_mutex_t lock; /* of all below: one request at a time */
	struct forker forker; /* its number of restarts is the generation */
	unsigned int n_late;  /* answers for which nothing waits any more */
};

static void run_keeper(int fd, const void *userdata)
{
	keeper_process(userdata, fd);
}

int keeper_new(const struct worker_ops *ops, struct keeper **ret_keeper)
{
	_cleanup_free_ struct keeper *keeper = calloc(1, sizeof(*keeper));
	int r;

	if (!keeper)
		return -ENOMEM;
	keeper->ops = ops;
	r = forker_begin(&keeper->forker, ops->role, run_keeper, ops);
	if (r < 0)
		return r;
	(void)pthread_mutex_init(&keeper->lock, NULL); /* cannot fail with default attributes */
	*ret_keeper = TAKE_PTR(keeper);
	return 0;
}

void keeper_free(struct keeper *keeper)
{
	if (!keeper)
		return;
	close(keeper->forker.fd);
	while (waitpid(keeper->forker.pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)pthread_mutex_destroy(&keeper->lock); /* it is not held */
	free(keeper);
}

/* An answer that did not come in time. A worker that came with it ends as its socket does. */
static int receive_late(struct keeper *keeper, uint64_t deadline_ns)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct message_fds fds = {};
	int r = message_receive(keeper->forker.fd, MAX_ANSWER_BYTES, deadline_ns, &answer, &fds);

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
		r = message_send(keeper->forker.fd, message, NULL, 0, deadline_ns);
	if (r < 0)
		return r;
	/* Both are so short that they are sent in one piece or not at all. */
	r = message_receive(keeper->forker.fd, MAX_ANSWER_BYTES, deadline_ns, answer, fds);
	keeper->n_late += r == -ETIMEDOUT;
	return r;
}

static void lock(struct keeper *keeper)
{
	(void)pthread_mutex_lock(&keeper->lock); /* cannot fail: no thread locks it twice */
}

static void unlock(struct keeper *keeper)
{
	(void)pthread_mutex_unlock(&keeper->lock); /* cannot fail: this thread holds it */
}

static int restart_locked(struct keeper *keeper)
{
	int r = forker_restart(&keeper->forker);

	if (r == 0)
		keeper->n_late = 0;
	return r;
}

static int make_message(enum keeper_request request, pid_t pid, struct strbuf *message)
{
	const struct keeper_order order = { (uint8_t)request, pid };

	codec_write(message, &keeper_order_layout, &order, NULL);
	return strbuf_error(message);
}

int keeper_start(struct keeper *keeper, int *ret_fd, struct kept_process *ret_process)
{
	_cleanup_strbuf_ struct strbuf message = {}, answer = {};
	struct message_fds fds = {};
	unsigned int generation;
	int r = make_message(KEEPER_START, 0, &message);
	pid_t pid;

	if (r < 0)
		return r;
	lock(keeper);
	if (forker_has_ended(&keeper->forker))
		r = restart_locked(keeper);
	if (r == 0)
		r = ask_locked(keeper, &message, &answer, &fds);
	generation = forker_restarts(&keeper->forker);
	unlock(keeper);
	if (r < 0)
		return r;
	if (codec_read_all(&answer, &codec_u32, &pid) < 0 || fds.n != 1 || pid <= 0 ||
	    fcntl(fds.fds[0], F_SETFL, O_NONBLOCK) < 0) {
		message_fds_close(&fds);
		return -EAGAIN;
	}
	*ret_fd = fds.fds[0];
	*ret_process = (struct kept_process){ pid, generation };
	return 0;
}

bool keeper_has(struct keeper *keeper, struct kept_process process)
{
	bool has;

	lock(keeper);
	has = process.generation == forker_restarts(&keeper->forker) &&
	      !forker_has_ended(&keeper->forker);
	unlock(keeper);
	return has;
}

int keeper_stop(struct keeper *keeper, struct kept_process process, int *ret_status)
{
	_cleanup_strbuf_ struct strbuf message = {}, answer = {};
	struct keeper_stopped stopped;
	int r = make_message(KEEPER_STOP, process.pid, &message);

	if (r < 0)
		return r;
	lock(keeper);
	r = process.generation == forker_restarts(&keeper->forker) ?
		    ask_locked(keeper, &message, &answer, NULL) :
		    -EPIPE;
	unlock(keeper);
	if (r < 0)
		return r;
	r = codec_read_all(&answer, &keeper_stopped_layout, &stopped);
	*ret_status = stopped.status;
	if (r < 0)
		return r;
	return stopped.has_ended ? 0 : -EINPROGRESS;
}

pid_t keeper_pid(const struct keeper *keeper)
{
	return forker_pid(&keeper->forker);
}

unsigned int keeper_restarts(const struct keeper *keeper)
{
	return forker_restarts(&keeper->forker);
}
