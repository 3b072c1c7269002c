/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push_queue.h"

#include "base/clock.h"

#include <stdlib.h>

#define FIRST_WAIT_NS SECOND_NS
#define MOST_WAIT_NS (300 * SECOND_NS)
/* One that a server cannot take, however often, must not keep the others from it. */
#define MOST_REFUSED 8

void push_item_free(struct push_item *item)
{
	if (!item)
		return;
	strbuf_done(&item->path);
	strbuf_done(&item->body);
	free(item);
}

static uint64_t size_of(const struct push_item *item)
{
	return sizeof(*item) + item->path.cap + item->body.cap;
}

static void remove_first(struct push_queue *queue)
{
	struct push_item *item = queue->first;

	queue->first = item->next;
	if (!queue->first)
		queue->last = NULL;
	queue->n--;
	queue->bytes -= size_of(item);
	push_item_free(item);
}

void push_queue_clear(struct push_queue *queue)
{
	queue->counts.dropped += queue->n;
	queue->is_sending = false;
	while (queue->first)
		remove_first(queue);
}

static void append(struct push_queue *queue, struct push_item *item)
{
	item->next = NULL;
	if (queue->last)
		queue->last->next = item;
	else
		queue->first = item;
	queue->last = item;
	queue->n++;
	queue->bytes += size_of(item);
}

/* The oldest that is not being sent. False: there is none. */
static bool drop_oldest(struct push_queue *queue)
{
	struct push_item *sending = queue->first, *oldest;

	if (!sending)
		return false;
	if (!queue->is_sending) {
		remove_first(queue);
	} else {
		oldest = sending->next;
		if (!oldest)
			return false;
		sending->next = oldest->next;
		if (queue->last == oldest)
			queue->last = sending;
		queue->n--;
		queue->bytes -= size_of(oldest);
		push_item_free(oldest);
	}
	queue->counts.dropped++;
	return true;
}

void push_queue_add(struct push_queue *queue, struct push_item *item)
{
	uint64_t size = size_of(item);

	while (size <= queue->most_bytes && queue->bytes + size > queue->most_bytes)
		if (!drop_oldest(queue))
			break;
	if (queue->bytes + size > queue->most_bytes) {
		queue->counts.dropped++;
		push_item_free(item);
		return;
	}
	append(queue, item);
}

uint64_t push_queue_due_ns(const struct push_queue *queue)
{
	return queue->first && !queue->is_sending ? queue->retry_ns : UINT64_MAX;
}

const struct push_item *push_queue_begin(struct push_queue *queue)
{
	queue->is_sending = true;
	return queue->first;
}

/* Twice as long each time, of which a random half is left out. */
static uint64_t wait_ns(unsigned int failures, uint32_t random)
{
	uint64_t ns = FIRST_WAIT_NS;

	for (unsigned int i = 1; i < failures && ns < MOST_WAIT_NS; i++)
		ns *= 2;
	if (ns > MOST_WAIT_NS)
		ns = MOST_WAIT_NS;
	return ns - (uint64_t)((double)(ns / 2) * random / UINT32_MAX);
}

void push_queue_settle(struct push_queue *queue, enum push_result result, uint64_t now_ns,
		       uint64_t retry_after_ns, uint32_t random)
{
	uint64_t wait;

	queue->is_sending = false;
	if (result == PUSH_SENT || result == PUSH_REJECTED) {
		*(result == PUSH_SENT ? &queue->counts.sent : &queue->counts.rejected) += 1;
		queue->failures = 0;
		queue->retry_ns = 0;
		remove_first(queue);
		return;
	}
	queue->counts.failed++;
	queue->failures++;
	wait = wait_ns(queue->failures, random);
	queue->retry_ns = now_ns + (retry_after_ns > wait ? retry_after_ns : wait);
	if (result == PUSH_REFUSED && ++queue->first->refused == MOST_REFUSED) {
		queue->counts.dropped++;
		remove_first(queue);
	}
}
