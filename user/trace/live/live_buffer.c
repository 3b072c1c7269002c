/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events go on being taken from the ring while the session's thread reads maps or makes a report: a
 * thread of its own copies them, and nothing else, to memory, from where the next drain takes them.
 * The ring would be full in a fraction of the seconds that large debug information takes.
 */
#include "trace/live/live_drain.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

/* What is beyond stays in the ring, where BPF counts what does not fit. */
#define MAX_BYTES (256UL << 20)

struct buffered {
	struct buffered *next;
	size_t size;
	_Alignas(8) char data[];
};

struct live_buffer {
	pthread_t thread;
	bool running;
	int stop_fd; /* an eventfd; readable: the thread is to end */
	int error;   /* an event could not be kept */
	size_t bytes;
	struct buffered *first, **end;
};

int live_buffer_new(struct live_buffer **ret_buffer)
{
	_cleanup_(live_buffer_free_p) struct live_buffer *buffer = calloc(1, sizeof(*buffer));

	if (!buffer)
		return -ENOMEM;
	buffer->end = &buffer->first;
	buffer->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (buffer->stop_fd < 0)
		return -errno;
	*ret_buffer = TAKE_PTR(buffer);
	return 0;
}

void live_buffer_free(struct live_buffer *buffer)
{
	struct buffered *next;

	if (!buffer)
		return;
	for (struct buffered *b = buffer->first; b; b = next) {
		next = b->next;
		free(b);
	}
	if (buffer->stop_fd >= 0)
		close(buffer->stop_fd);
	free(buffer);
}

bool live_buffer_add(struct live_buffer *buffer, const void *data, size_t size)
{
	struct buffered *b;

	if (!buffer->running)
		return false;
	b = malloc(sizeof(*b) + size);
	if (!b) {
		buffer->error = -ENOMEM;
		return true;
	}
	b->next = NULL;
	b->size = size;
	memcpy(b->data, data, size);
	*buffer->end = b;
	buffer->end = &b->next;
	buffer->bytes += sizeof(*b) + size;
	return true;
}

static void *take_from_ring(void *userdata)
{
	struct live *live = userdata;
	struct live_buffer *buffer = live->buffer;
	struct pollfd fds[] = {
		{ .fd = buffer->stop_fd, .events = POLLIN },
		{ .fd = ring_buffer__epoll_fd(live->ring), .events = POLLIN },
	};

	/* An error is the session's to see at its next drain. */
	while (!buffer->error && buffer->bytes < MAX_BYTES) {
		int n = poll(fds, sizeof(fds) / sizeof(fds[0]), -1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || fds[0].revents || ring_buffer__consume(live->ring) < 0)
			break;
	}
	return NULL;
}

void live_buffer_begin(struct live *live)
{
	struct live_buffer *buffer = live->buffer;

	if (buffer->running)
		return;
	buffer->running = true;
	/* Without a thread events wait in the ring. */
	if (pthread_create(&buffer->thread, NULL, take_from_ring, live))
		buffer->running = false;
}

void live_buffer_end(struct live *live)
{
	struct live_buffer *buffer = live->buffer;
	eventfd_t stops;

	if (!buffer->running)
		return;
	(void)eventfd_write(buffer->stop_fd, 1); /* fails at 2^64 - 1 */
	pthread_join(buffer->thread, NULL);
	(void)eventfd_read(buffer->stop_fd, &stops); /* not empty */
	buffer->running = false;
}

bool live_buffer_waits(const struct live *live)
{
	return live->buffer->first || live->buffer->error;
}

void live_buffer_drain(struct live *live, void (*fn)(struct live *live, const void *data))
{
	struct live_buffer *buffer = live->buffer;

	while (buffer->first) {
		struct buffered *b = buffer->first;

		buffer->first = b->next;
		if (!buffer->first)
			buffer->end = &buffer->first;
		buffer->bytes -= sizeof(*b) + b->size;
		fn(live, b->data);
		free(b);
	}
}

int live_buffer_error(const struct live_buffer *buffer)
{
	return buffer->error;
}
