/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/message.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define CHUNK_BYTES (64 << 10)

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
};

void message_fds_close(struct message_fds *fds)
{
	for (size_t i = 0; i < fds->n; i++)
		close(fds->fds[i]);
	fds->n = 0;
}

/* 0 when the socket may be tried again. */
static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };
	uint64_t now = deadline_ns == MESSAGE_NEVER ? 0 : clock_monotonic_ns();
	int ms = -1, n;

	if (deadline_ns != MESSAGE_NEVER) {
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		ms = (int)((deadline_ns - now) / MS_NS) + 1;
	}
	n = poll(&poll_fd, 1, ms);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 ? -ETIMEDOUT : 0;
}

/* Descriptors go with the first byte that is taken. */
static void put_fds(struct msghdr *message, union control *control, const int *fds, size_t n_fds)
{
	if (n_fds == 0)
		return;
	memset(control, 0, sizeof(*control));
	message->msg_control = control;
	message->msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	control->head.cmsg_level = SOL_SOCKET;
	control->head.cmsg_type = SCM_RIGHTS;
	control->head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
	memcpy(CMSG_DATA(&control->head), fds, n_fds * sizeof(int));
}

int message_send(int fd, const struct strbuf *body, const int *fds, size_t n_fds,
		 uint64_t deadline_ns)
{
	uint32_t len = (uint32_t)body->len;
	struct iovec parts[2] = { { &len, sizeof(len) }, { (void *)strbuf_str(body), body->len } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	union control control;
	int r;

	if (body->len > UINT32_MAX || n_fds > MESSAGE_MAX_FDS)
		return -EMSGSIZE;
	put_fds(&message, &control, fds, n_fds);
	while (parts[0].iov_len + parts[1].iov_len > 0) {
		ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n < 0) {
			r = wait_for(fd, POLLOUT, deadline_ns);
			if (r < 0)
				return r;
			continue;
		}
		message.msg_control = NULL;
		message.msg_controllen = 0;
		for (size_t i = 0; i < 2; i++) {
			size_t part = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return 0;
}

static void read_fds(struct msghdr *message, struct message_fds *fds)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(message);

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return;
	fds->n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds->fds, CMSG_DATA(head), fds->n * sizeof(int));
}

/* Up to `len` bytes. What comes beside them is closed by the kernel where there is no room. */
static ssize_t receive_some(int fd, void *data, size_t len, uint64_t deadline_ns,
			    struct message_fds *fds)
{
	struct iovec part = { data, len };
	union control control;
	int r;

	for (;;) {
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t n;

		if (fds && fds->n == 0) {
			message.msg_control = &control;
			message.msg_controllen = sizeof(control);
		}
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
		if (n > 0 && message.msg_control)
			read_fds(&message, fds);
		if (n >= 0)
			return n > 0 ? n : -EPIPE;
		if (errno != EAGAIN && errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
		r = wait_for(fd, POLLIN, deadline_ns);
		if (r < 0)
			return r;
	}
}

static int receive_body(int fd, size_t len, uint64_t deadline_ns, struct strbuf *body)
{
	_cleanup_free_ char *chunk = malloc(CHUNK_BYTES);

	if (!chunk)
		return -ENOMEM;
	while (len > 0) {
		size_t want = len < CHUNK_BYTES ? len : CHUNK_BYTES;
		ssize_t n = receive_some(fd, chunk, want, deadline_ns, NULL);

		if (n < 0)
			return (int)n;
		strbuf_add(body, chunk, (size_t)n);
		len -= (size_t)n;
	}
	return strbuf_error(body);
}

int message_receive(int fd, size_t max_bytes, uint64_t deadline_ns, struct strbuf *body,
		    struct message_fds *ret_fds)
{
	size_t have = 0;
	uint32_t len;
	int r = 0;

	strbuf_reset(body);
	if (ret_fds)
		ret_fds->n = 0;
	while (have < sizeof(len)) {
		ssize_t n = receive_some(fd, (char *)&len + have, sizeof(len) - have, deadline_ns,
					 ret_fds);

		if (n < 0)
			r = (int)n;
		if (n < 0)
			break;
		have += (size_t)n;
	}
	if (r == 0 && len > max_bytes)
		r = -EMSGSIZE;
	if (r == 0)
		r = receive_body(fd, len, deadline_ns, body);
	if (r < 0 && ret_fds)
		message_fds_close(ret_fds);
	return r;
}
