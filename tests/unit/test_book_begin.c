/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Books that were kept before they are read: found, and read by one after the other. */
#include "book_fixture.h"

#include "base/clock.h"
#include "bpf/abi_unwind.h"
#include "trace/books/book.h"
#include "trace/books/book_read.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CUT 8

static const struct book_request all_sizes = { .filter = { .max_size = UINT64_MAX } };

static void a_book_has_one_reader(void **state)
{
	const struct hand_book *hand = *state;
	struct book *book = open_hand(hand), *other;

	assert_int_equal(book_open(getpid(), hand->fd, &other), -EBUSY);
	assert_int_equal(book_open_mapped(getpid(), &other), -EBUSY);
	book_close(book);
	book_close(open_hand(hand));
}

static void a_book_is_found_where_it_is_mapped(void **state)
{
	const struct hand_book *hand = *state;
	struct book *book;

	assert_int_equal(book_open_mapped(getpid(), &book), 0);
	book_close(book);
	assert_int_equal(book_try(getpid()), 0);
	hand_header(hand)->parent_era = 1;
	assert_int_equal(book_try(getpid()), -EXDEV);
	hand_header(hand)->passed_on = 1;
	assert_int_equal(book_try(getpid()), -ESTALE);
	hand_header(hand)->magic = 0;
	assert_int_equal(book_try(getpid()), -EINVAL);
	/* An ancestor's, which is no book of this process's. */
	assert_int_equal(mprotect(hand->bytes, ABI_BOOK_BYTES, PROT_READ), 0);
	assert_int_equal(book_try(getpid()), -ENOENT);
	assert_int_equal(mprotect(hand->bytes, ABI_BOOK_BYTES, PROT_READ | PROT_WRITE), 0);
}

/* As a server maps what a client hands it. */
static void a_book_without_a_fence_is_not_found(void **state)
{
	const struct hand_book *hand = *state;
	char *fence = hand->bytes + ABI_BOOK_BYTES;

	for (int access = PROT_READ; access <= (PROT_READ | PROT_WRITE); access++) {
		assert_int_equal(mprotect(fence, ABI_BOOK_FENCE, access), 0);
		assert_int_equal(book_try(getpid()), -ENOENT);
	}
	assert_int_equal(mprotect(fence, ABI_BOOK_FENCE, PROT_NONE), 0);
	assert_int_equal(book_try(getpid()), 0);
}

static void a_child_has_its_parents_book_mapped(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_true(book_is_mapped(book, pid));
	assert_true(book_is_mapped_elsewhere(book, getpid()));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(book_is_mapped(book, pid));
}

static void what_an_earlier_reader_has_told_is_over(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct abi_book_header *header = hand_header(hand);
	struct book_totals totals;

	header->cut_epoch = header->cut_epoch_seen = CUT + 10;
	header->tick = 500;
	header->peak_bytes = 50;
	header->cut_peak_bytes = 40;
	assert_int_equal(book_begin(book, &all_sizes, CUT, 3), 0);
	assert_int_equal(header->cut_epoch, CUT + 10 + ABI_CUT_STEP);
	assert_int_equal(header->tick, 3);
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(totals.peak_bytes, 50);
	assert_int_equal(book_tell(book, CUT + ABI_CUT_STEP, 4), 0);
	assert_int_equal(header->cut_epoch, CUT + 10 + 2 * ABI_CUT_STEP);
	header->cut_epoch_seen = header->cut_epoch;
	assert_int_equal(book_read_totals(book, CUT + ABI_CUT_STEP, &totals), 0);
	assert_int_equal(totals.peak_bytes, 40);
	header->passed_on = 1;
	assert_int_equal(book_begin(book, &all_sizes, CUT, 3), -ESTALE);
}

static void a_process_is_told_which_blocks_are_wanted(void **state)
{
	const struct hand_book *hand = *state;
	const struct book_request some = { .filter = { .min_size = 16, .max_size = 4096 },
					   .wants = ABI_BOOK_ERRORS };
	const struct book_request frees = { .filter = all_sizes.filter, .wants = ABI_BOOK_FREES };
	struct book *book = open_hand(hand);

	assert_int_equal(book_begin(book, &some, CUT, 3), 0);
	assert_int_equal(hand_header(hand)->filter.min_size, 16);
	assert_int_equal(hand_header(hand)->filter.max_size, 4096);
	assert_int_equal(hand_header(hand)->wants, ABI_BOOK_SIZES | ABI_BOOK_ERRORS);
	book_close(book);
	assert_int_equal(book_try(getpid()), -ENODATA);
	book = open_hand(hand);
	assert_int_equal(book_begin(book, &all_sizes, CUT, 3), 0);
	assert_int_equal(hand_header(hand)->wants, 0);
	assert_int_equal(book_begin(book, &frees, CUT, 3), 0);
	assert_int_equal(book_leave(book), 0);
	assert_int_equal(hand_header(hand)->wants, 0);
	assert_int_equal(hand_header(hand)->answer, ABI_BOOK_UNANSWERED);
	book_close(book);
}

static void put_node(const struct hand_book *hand, uint32_t number, uint64_t address,
		     uint32_t parent)
{
	*hand_node(hand, number) =
		(struct abi_book_node){ address, parent, parent ? ABI_BOOK_EXACT : 0 };
}

static size_t frames_of(struct book *book, uint32_t node)
{
	struct book_stack stack;

	assert_int_equal(book_read_stack(book, node, ABI_MAX_FRAMES, &stack), 0);
	assert_int_equal(stack.cut, stack.n == 2 ? ABI_CUT_NONE : ABI_CUT_NO_MAPPING);
	assert_int_equal(stack.exact[0], (1U << stack.n) - 1);
	return stack.n;
}

/* Stacks of 0x1000, and of 0x2000 called by 0x1000, that began at 100 and at 300. */
static void what_older_stacks_have_of_code_that_went_is_cut_off(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand), *later = NULL;
	struct abi_book_gone *gone = (struct abi_book_gone *)(hand->bytes + ABI_BOOK_AT_GONE);

	put_node(hand, 1, 100, ABI_BOOK_NO_NODE);
	put_node(hand, 2, 0x1000, 1);
	put_node(hand, 3, 0x2000, 2);
	put_node(hand, 4, 300, ABI_BOOK_NO_NODE);
	put_node(hand, 5, 0x1000, 4);
	put_node(hand, 6, 0x2000, 5);
	gone[0] = (struct abi_book_gone){ 0x1000, 0x1800, 200 };
	hand_header(hand)->gone = 1;
	assert_int_equal(book_begin(book, &all_sizes, CUT, 3), 0);
	assert_int_equal(frames_of(book, 3), 1);
	assert_int_equal(frames_of(book, 6), 2);
	book_close(TAKE_PTR(book));
	hand_header(hand)->gone = UINT32_MAX;
	gone[ABI_BOOK_GONE - 1] = (struct abi_book_gone){ 0, UINT64_MAX, 400 };
	later = open_hand(hand);
	assert_int_equal(book_begin(later, &all_sizes, CUT, 3), 0);
	assert_int_equal(frames_of(later, 6), 0);
}

static int add_block(const struct book_block *block, void *userdata)
{
	uint64_t *ticks = userdata;

	ticks[block->address == 0x2000] = block->tick;
	return 0;
}

static void put_block(const struct hand_book *hand, size_t way, uint64_t address, uint32_t tick)
{
	hand_bucket(hand, 0)->address[way] = address;
	hand_bucket(hand, 0)->block[way] = (struct abi_book_block){
		.size_fn = ABI_BOOK_SIZE_FN(1000ULL, 3, ABI_FORM_OWN, ABI_BOOK_MALLOC),
		.tick = tick,
	};
}

/* Their ticks are by CLOCK_MONOTONIC, of which blocks have the lower half. */
static void blocks_have_the_time_of_the_processs_clock(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	uint64_t now = clock_monotonic_ns() / ABI_TICK_NS, ticks[2] = { 77, 77 };

	assert_int_equal(book_begin(book, &all_sizes, CUT, now + 1), 0);
	assert_int_equal(hand_header(hand)->tick, (uint32_t)now + 1);
	put_block(hand, 0, 0x1000, (uint32_t)now - 3);
	put_block(hand, 1, 0x2000, hand_header(hand)->tick);
	assert_int_equal(book_read_blocks(book, 0, add_block, ticks), 0);
	assert_int_equal(ticks[0], now - 3);
	assert_int_equal(ticks[1], now + 1);
	/* One that was made before the machine was started is not believed. */
	put_block(hand, 0, 0x1000, (uint32_t)now + UINT32_MAX / 2);
	assert_int_equal(book_read_blocks(book, 0, add_block, ticks), 0);
	assert_int_equal(ticks[0], 0);
}

/* In a time namespace its clock is another one. */
static void times_are_those_of_our_clock(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	uint64_t now = clock_monotonic_ns() / ABI_TICK_NS, ticks[2] = { 0 };
	static const int64_t offsets[] = { 5000000003, -7000000 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		book->clock_ns = offsets[i];
		assert_int_equal(book_begin(book, &all_sizes, CUT, now), 0);
		put_block(hand, 0, 0x1000, hand_header(hand)->tick);
		assert_int_equal(book_read_blocks(book, 0, add_block, ticks), 0);
		assert_int_equal(ticks[0], now);
	}
}

#define BOOK_TEST(name) cmocka_unit_test_setup_teardown(name, hand_book_setup, hand_book_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOOK_TEST(a_book_has_one_reader),
		BOOK_TEST(a_book_is_found_where_it_is_mapped),
		BOOK_TEST(a_book_without_a_fence_is_not_found),
		BOOK_TEST(a_child_has_its_parents_book_mapped),
		BOOK_TEST(what_an_earlier_reader_has_told_is_over),
		BOOK_TEST(a_process_is_told_which_blocks_are_wanted),
		BOOK_TEST(what_older_stacks_have_of_code_that_went_is_cut_off),
		BOOK_TEST(blocks_have_the_time_of_the_processs_clock),
		BOOK_TEST(times_are_those_of_our_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
