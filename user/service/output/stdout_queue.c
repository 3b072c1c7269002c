/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/stdout_queue.h"

#include "base/outfile.h"
#include "base/strbuf.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct stdout_queue {
	struct loop *loop;
	struct loop_source *source; /* NULL: nothing waits */
	stdout_queue_fn fn;
	void *userdata;
	int own_fd; /* standard output, opened so that writes do not wait; -1: it is not */
	bool is_socket;
	struct strbuf text;
	size_t done; /* of it, bytes that are written */
	int error;
};

/* A write to a socket has a flag of its own. Writes to files do not wait. */
static void open_own(struct stdout_queue *q)
{
	struct stat status;

	q->is_socket = fstat(STDOUT_FILENO, &status) == 0 && S_ISSOCK(status.st_mode);
	q->own_fd = outfile_open_again(STDOUT_FILENO);
}

int stdout_queue_new(struct loop *loop, stdout_queue_fn fn, void *userdata,
		     struct stdout_queue **ret_queue)
{
	struct stdout_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->loop = loop;
	q->fn = fn;
	q->userdata = userdata;
	open_own(q);
	*ret_queue = q;
	return 0;
}

void stdout_queue_free(struct stdout_queue *q)
{
	if (!q)
		return;
	loop_source_free(q->source);
	if (q->own_fd >= 0)
		close(q->own_fd);
	strbuf_done(&q->text);
	free(q);
}

static int fd_of(const struct stdout_queue *q)
{
	return q->own_fd >= 0 ? q->own_fd : STDOUT_FILENO;
}

static ssize_t write_some(const struct stdout_queue *q)
{
	const char *data = q->text.data + q->done;
	size_t len = q->text.len - q->done;

	if (q->is_socket)
		return send(STDOUT_FILENO, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(fd_of(q), data, len);
}

/* What is taken without waiting. */
static int write_now(struct stdout_queue *q)
{
	while (q->error == 0 && q->done < q->text.len) {
		ssize_t n = write_some(q);

		if (n >= 0)
			q->done += (size_t)n;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			q->error = -errno;
	}
	/* A large report's room is not kept. */
	strbuf_done(&q->text);
	q->text = (struct strbuf){ 0 };
	q->done = 0;
	return q->error;
}

static int on_writable(int fd, uint32_t events, void *userdata)
{
	struct stdout_queue *q = userdata;
	int r = write_now(q);

	(void)fd;
	(void)events;
	if (stdout_queue_waiting(q))
		return 0;
	loop_source_free(TAKE_PTR(q->source));
	return r < 0 ? q->fn(r, q->userdata) : 0;
}

/* Else the text of a reader that is always a bit late would grow for good. */
static void forget_written(struct stdout_queue *q)
{
	if (q->done == 0 || q->done < q->text.len / 2)
		return;
	q->text.len -= q->done;
	memmove(q->text.data, q->text.data + q->done, q->text.len);
	q->done = 0;
}

int stdout_queue_add(struct stdout_queue *q, const char *text, size_t len)
{
	int r;

	if (q->error < 0)
		return q->error;
	forget_written(q);
	strbuf_add(&q->text, text, len);
	r = strbuf_error(&q->text);
	if (r == 0)
		r = write_now(q);
	if (r < 0 || !stdout_queue_waiting(q) || q->source)
		return r;
	return loop_add_fd(q->loop, fd_of(q), EPOLLOUT, on_writable, q, &q->source);
}

size_t stdout_queue_waiting(const struct stdout_queue *q)
{
	return q->text.len - q->done;
}

int stdout_queue_flush(struct stdout_queue *q)
{
	struct pollfd ready = { .fd = fd_of(q), .events = POLLOUT };
	int r = write_now(q);

	while (r == 0 && stdout_queue_waiting(q)) {
		if (poll(&ready, 1, -1) < 0 && errno != EINTR)
			return -errno;
		r = write_now(q);
	}
	loop_source_free(TAKE_PTR(q->source));
	return r;
}

int stdout_queue_error(const struct stdout_queue *q)
{
	return q->error;
}
