/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events go on being taken from the ring while the session's thread reads maps or makes a report: a
 * thread of its own copies them, and nothing else, to memory, from where the next drain takes them.
 * The ring would be full in a fraction of the seconds that large debug information takes.
 */
#include "trace/live/live_process.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* What is beyond stays in the ring, where BPF counts what does not fit. */
#define MAX_BYTES (256UL << 20)
#define POLL_MS 10

struct buffered {
	struct buffered *next;
	size_t size;
	_Alignas(8) char data[];
};

struct live_buffer {
	pthread_t thread;
	bool running;
	bool stop; /* by __atomic */
	int error; /* an event could not be kept */
	size_t bytes;
	struct buffered *first, **end;
};

int live_buffer_new(struct live_buffer **ret_buffer)
{
	struct live_buffer *buffer = calloc(1, sizeof(*buffer));

	if (!buffer)
		return -ENOMEM;
	buffer->end = &buffer->first;
	*ret_buffer = buffer;
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

	/* An error is the session's to see at its next drain. */
	while (!__atomic_load_n(&buffer->stop, __ATOMIC_ACQUIRE) && !buffer->error &&
	       buffer->bytes < MAX_BYTES)
		if (ring_buffer__poll(live->ring, POLL_MS) < 0)
			break;
	return NULL;
}

void live_buffer_begin(struct live *live)
{
	struct live_buffer *buffer = live->buffer;

	if (buffer->running)
		return;
	buffer->stop = false;
	buffer->running = true;
	/* Without a thread events wait in the ring. */
	if (pthread_create(&buffer->thread, NULL, take_from_ring, live))
		buffer->running = false;
}

void live_buffer_end(struct live *live)
{
	struct live_buffer *buffer = live->buffer;

	if (!buffer->running)
		return;
	__atomic_store_n(&buffer->stop, true, __ATOMIC_RELEASE);
	pthread_join(buffer->thread, NULL);
	buffer->running = false;
}

void live_buffer_drain(struct live *live)
{
	struct live_buffer *buffer = live->buffer;

	if (!live->error)
		live->error = buffer->error;
	while (buffer->first) {
		struct buffered *b = buffer->first;

		buffer->first = b->next;
		if (!buffer->first)
			buffer->end = &buffer->first;
		buffer->bytes -= sizeof(*b) + b->size;
		live_on_event(live, b->data);
		free(b);
	}
}

int live_after_cut(struct live *live)
{
	if (!live->buffer->first && !live->buffer->error)
		return 0;
	live->error = 0;
	live_buffer_drain(live);
	return live->error ? live->error : live_unwind_drained(live);
}
