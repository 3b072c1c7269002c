/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book_read.h"

#include "book_fixture.h"
#include "bpf/abi_unwind.h"
#include "trace/books/book.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void put_node(const struct hand_book *hand, uint32_t number, uint32_t parent,
		     uint64_t address, uint32_t flags)
{
	*hand_node(hand, number) = (struct abi_book_node){ address, parent, flags };
}

static void a_stack_is_its_nodes_to_the_beginning(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_stack stack;

	put_node(hand, 1, 0, 99, ABI_BOOK_ROOT(ABI_CUT_LIMIT, 0x10007));
	put_node(hand, 300, 1, 0x10, ABI_BOOK_GUIDED);
	put_node(hand, 70000, 300, 0x20, ABI_BOOK_EXACT);
	assert_int_equal(book_read_stack(book, 70000, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.n, 2);
	assert_int_equal(stack.frame[0], 0x20);
	assert_int_equal(stack.frame[1], 0x10);
	assert_int_equal(stack.exact[0], 1);
	assert_int_equal(stack.cut, ABI_CUT_LIMIT);
	assert_true(stack.guided);
	assert_int_equal(stack.epoch, 0x10007);
	assert_int_equal(stack.time_ns, 99);
	assert_int_equal(book_read_stack(book, 1, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.n, 0);
	assert_false(stack.guided);
}

static void put_object(const struct hand_book *hand, uint32_t number, uint64_t time_ns)
{
	((uint64_t *)(hand->bytes + ABI_BOOK_AT_OBJECTS))[number] = time_ns;
	hand_header(hand)->loaded = number;
}

/* It was taken after its beginning was made and its objects were seen, and before code went. */
static void a_stack_has_the_time_at_which_all_of_its_code_was_there(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_stack stack;

	put_object(hand, 1, 50);
	put_object(hand, 2, 300);
	put_node(hand, 1, 0, 100, 0);
	put_node(hand, 2, 1, 0x10, ABI_BOOK_IN_OBJECT(1));
	put_node(hand, 3, 2, 0x20, ABI_BOOK_IN_OBJECT(2) | ABI_BOOK_EXACT);
	put_node(hand, 4, 3, 0x30, 0);
	assert_int_equal(book_read_stack(book, 2, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.time_ns, 100);
	assert_int_equal(book_read_stack(book, 4, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.time_ns, 300);
	put_object(hand, 3, 400); /* the process goes on */
	put_node(hand, 5, 3, 0x30, ABI_BOOK_IN_OBJECT(3));
	book_forget_nodes(book);
	assert_int_equal(book_read_stack(book, 5, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.time_ns, 400);
}

static void what_is_in_unknown_objects_is_cut_off(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_stack stack;

	put_node(hand, 1, 0, 100, 0);
	put_node(hand, 2, 1, 0x10, ABI_BOOK_IN_OBJECT(ABI_BOOK_UNKNOWN_OBJECT));
	put_node(hand, 3, 2, 0x20, 0);
	put_node(hand, 4, 3, 0x30, ABI_BOOK_IN_OBJECT(7)); /* of which nothing is told */
	assert_int_equal(book_read_stack(book, 3, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.n, 1);
	assert_int_equal(stack.cut, ABI_CUT_NO_MAPPING);
	assert_int_equal(book_read_stack(book, 4, ABI_MAX_FRAMES, &stack), -EINVAL);
	hand_header(hand)->loaded = UINT32_MAX;
	assert_int_equal(book_read_stack(book, 4, ABI_MAX_FRAMES, &stack), -EINVAL);
}

static void nodes_that_came_later_are_read(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_stack stack;

	put_node(hand, 1, 0, 0, 0);
	assert_int_equal(book_read_stack(book, 2, ABI_MAX_FRAMES, &stack), 0);
	put_node(hand, 2, 1, 0x10, 0);
	book_forget_nodes(book);
	assert_int_equal(book_read_stack(book, 2, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.n, 1);
}

static void what_is_no_stack_is_refused(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_stack stack;
	const uint32_t deep = 1000;

	put_node(hand, 1, 0, 0, 0);
	put_node(hand, 2, 2, 0x10, 0); /* itself */
	put_node(hand, 3, 4, 0x10, 0); /* a circle */
	put_node(hand, 4, 3, 0x10, 0);
	put_node(hand, 5, 6, 0x10, 0);	   /* what comes later */
	put_node(hand, 6, 0, 0, ABI_CUTS); /* and an end that nobody knows */
	put_node(hand, 7, ABI_BOOK_NODES, 1, 0);
	put_node(hand, 8, 1, 0, 0); /* no frame */
	put_node(hand, deep, 1, 0x10, 0);
	for (uint32_t i = 1; i <= ABI_MAX_FRAMES; i++)
		put_node(hand, deep + i, deep + i - 1, 0x10, 0);
	for (uint32_t node = 2; node <= 8; node++)
		assert_int_equal(book_read_stack(book, node, ABI_MAX_FRAMES, &stack), -EINVAL);
	assert_int_equal(book_read_stack(book, ABI_BOOK_NO_NODE, ABI_MAX_FRAMES, &stack), -EINVAL);
	assert_int_equal(book_read_stack(book, ABI_BOOK_NODES, ABI_MAX_FRAMES, &stack), -EINVAL);
	assert_int_equal(book_read_stack(book, UINT32_MAX, ABI_MAX_FRAMES, &stack), -EINVAL);
	assert_int_equal(book_read_stack(book, deep + ABI_MAX_FRAMES - 1, ABI_MAX_FRAMES, &stack),
			 0);
	assert_int_equal(stack.n, ABI_MAX_FRAMES);
	assert_int_equal(book_read_stack(book, deep + ABI_MAX_FRAMES, ABI_MAX_FRAMES, &stack),
			 -EINVAL);
}

int main(void)
{
#define BOOK_TEST(f) cmocka_unit_test_setup_teardown(f, hand_book_setup, hand_book_teardown)
	const struct CMUnitTest tests[] = {
		BOOK_TEST(a_stack_is_its_nodes_to_the_beginning),
		BOOK_TEST(a_stack_has_the_time_at_which_all_of_its_code_was_there),
		BOOK_TEST(what_is_in_unknown_objects_is_cut_off),
		BOOK_TEST(nodes_that_came_later_are_read),
		BOOK_TEST(what_is_no_stack_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
