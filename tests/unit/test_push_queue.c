/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push_queue.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define KIB 1024

/* Of about so many KiB. */
static struct push_item *item(const char *path, size_t kib)
{
	struct push_item *item = calloc(1, sizeof(*item));

	assert_non_null(item);
	strbuf_adds(&item->path, path);
	for (size_t i = 0; i < kib * KIB / 16; i++)
		strbuf_adds(&item->body, "0123456789abcdef");
	return item;
}

static void they_are_sent_in_their_order(void **state)
{
	struct push_queue queue = { .most_bytes = 64 * KIB };

	(void)state;
	assert_true(push_queue_due_ns(&queue) == UINT64_MAX);
	push_queue_add(&queue, item("a", 1));
	push_queue_add(&queue, item("b", 1));
	assert_int_equal(push_queue_due_ns(&queue), 0);
	assert_string_equal(strbuf_str(&push_queue_begin(&queue)->path), "a");
	assert_true(push_queue_due_ns(&queue) == UINT64_MAX);
	push_queue_settle(&queue, PUSH_SENT, 5, 0, 0);
	assert_string_equal(strbuf_str(&push_queue_begin(&queue)->path), "b");
	push_queue_settle(&queue, PUSH_REJECTED, 6, 0, 0);
	assert_int_equal(queue.n, 0);
	assert_int_equal(queue.bytes, 0);
	assert_null(queue.last);
	assert_int_equal(queue.counts.sent, 1);
	assert_int_equal(queue.counts.rejected, 1);
	assert_int_equal(queue.counts.dropped + queue.counts.failed, 0);
}

static void the_oldest_go_but_for_what_is_being_sent(void **state)
{
	struct push_queue queue = { .most_bytes = 40 * KIB };

	(void)state;
	push_queue_add(&queue, item("a", 8));
	push_queue_add(&queue, item("b", 8));
	(void)push_queue_begin(&queue);
	push_queue_add(&queue, item("c", 8));
	push_queue_add(&queue, item("d", 8));
	assert_true(queue.bytes <= queue.most_bytes);
	assert_int_equal(queue.counts.dropped, 2);
	assert_string_equal(strbuf_str(&queue.first->path), "a");
	assert_string_equal(strbuf_str(&queue.last->path), "d");
	push_queue_settle(&queue, PUSH_FAILED, 0, 0, 0);
	push_queue_add(&queue, item("e", 8));
	assert_string_equal(strbuf_str(&queue.first->path), "d");
	assert_int_equal(queue.counts.dropped, 3);
	/* What has no room at all takes none from others. */
	push_queue_add(&queue, item("f", 64));
	assert_int_equal(queue.n, 2);
	assert_int_equal(queue.counts.dropped, 4);
	push_queue_clear(&queue);
	assert_int_equal(queue.counts.dropped, 6);
	assert_int_equal(queue.bytes, 0);
}

static void tries_are_ever_further_apart_and_not_at_once(void **state)
{
	struct push_queue queue = { .most_bytes = 64 * KIB };
	uint64_t wait = SECOND_NS;

	(void)state;
	push_queue_add(&queue, item("a", 1));
	for (int i = 0; i < 40; i++) {
		(void)push_queue_begin(&queue);
		/* The whole time, or half of it. */
		push_queue_settle(&queue, PUSH_FAILED, 7, 0, i % 2 ? UINT32_MAX : 0);
		assert_true(push_queue_due_ns(&queue) == 7 + (i % 2 ? wait - wait / 2 : wait));
		wait = wait * 2 > 300 * SECOND_NS ? 300 * SECOND_NS : wait * 2;
	}
	assert_int_equal(queue.n, 1);
	assert_int_equal(queue.counts.failed, 40);
	/* What the server asks for, if that is longer. */
	(void)push_queue_begin(&queue);
	push_queue_settle(&queue, PUSH_REFUSED, 7, 1000 * SECOND_NS, 0);
	assert_true(push_queue_due_ns(&queue) == 7 + 1000 * SECOND_NS);
	(void)push_queue_begin(&queue);
	push_queue_settle(&queue, PUSH_REFUSED, 7, SECOND_NS, 0);
	assert_true(push_queue_due_ns(&queue) == 7 + 300 * SECOND_NS);
	/* And from the beginning, once it works. */
	push_queue_add(&queue, item("b", 1));
	(void)push_queue_begin(&queue);
	push_queue_settle(&queue, PUSH_SENT, 7, 0, 0);
	assert_int_equal(push_queue_due_ns(&queue), 0);
	(void)push_queue_begin(&queue);
	push_queue_settle(&queue, PUSH_FAILED, 7, 0, 0);
	assert_true(push_queue_due_ns(&queue) == 7 + SECOND_NS);
	push_queue_clear(&queue);
}

static void what_a_server_never_takes_gives_way_to_others(void **state)
{
	struct push_queue queue = { .most_bytes = 64 * KIB };

	(void)state;
	push_queue_add(&queue, item("a", 1));
	push_queue_add(&queue, item("b", 1));
	for (int i = 0; i < 8; i++) {
		assert_string_equal(strbuf_str(&push_queue_begin(&queue)->path), "a");
		push_queue_settle(&queue, PUSH_REFUSED, 0, 0, 0);
	}
	assert_string_equal(strbuf_str(&push_queue_begin(&queue)->path), "b");
	assert_int_equal(queue.counts.dropped, 1);
	push_queue_clear(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_sent_in_their_order),
		cmocka_unit_test(the_oldest_go_but_for_what_is_being_sent),
		cmocka_unit_test(tries_are_ever_further_apart_and_not_at_once),
		cmocka_unit_test(what_a_server_never_takes_gives_way_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
