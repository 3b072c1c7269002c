/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book.h"

#include "base/clock.h"
#include "book_fixture.h"
#include "bpf/abi_heap_error.h"
#include "bpf/abi_unwind.h"
#include "trace/books/book_read.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define CUT 8
#define SOON_NS (20 * MS_NS)

static void a_book_is_opened_and_keeps_its_size(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);

	assert_int_equal(ftruncate(hand->fd, 4096), -1);
	assert_int_equal(ftruncate(hand->fd, (off_t)ABI_BOOK_BYTES + 4096), -1);
}

static int open_fd(int fd)
{
	struct book *book;
	int r = book_open(getpid(), fd, &book);

	if (r == 0)
		book_close(book);
	return r;
}

static void what_is_no_book_is_refused(void **state)
{
	const struct hand_book *hand = *state;
	int fds[2];

	assert_int_equal(open_fd(-1), -EINVAL);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(open_fd(fds[0]), -EINVAL);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(open_fd(fds[0]), -ENOENT);
	fds[0] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(open_fd(fds[0]), -EINVAL);
	close(fds[0]);
	fds[0] = open("/dev/zero", O_RDWR | O_CLOEXEC);
	assert_int_equal(open_fd(fds[0]), -EINVAL);
	close(fds[0]);
	hand_header(hand)->version++;
	assert_int_equal(open_fd(hand->fd), -EINVAL);
	hand_header(hand)->version--;
	hand_header(hand)->magic = 0;
	assert_int_equal(open_fd(hand->fd), -EINVAL);
}

static void a_book_of_another_size_is_refused(void **state)
{
	int fd = memfd_create(ABI_BOOK_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct abi_book_header header = { .magic = ABI_BOOK_MAGIC,
						.version = ABI_BOOK_VERSION };

	(void)state;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_int_equal(open_fd(fd), -EINVAL);
	close(fd);
}

static void a_book_whose_size_is_not_sealed_is_refused(void **state)
{
	static const int seals[] = { 0, F_SEAL_SHRINK, F_SEAL_GROW };

	(void)state;
	for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
		int fd = memfd_create(ABI_BOOK_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

		assert_int_equal(ftruncate(fd, (off_t)ABI_BOOK_BYTES), 0);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
		assert_int_equal(open_fd(fd), -EACCES);
		close(fd);
	}
}

/* The process may give back any page of it. */
static void a_header_that_is_a_hole_can_be_written(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);

	assert_int_equal(fallocate(hand->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
			 0);
	assert_int_equal(book_tell(book, CUT, 77), 0);
	assert_int_equal(hand_header(hand)->cut_epoch, CUT);
}

/* With seals of its own against that. */
static void a_book_that_cannot_be_written_is_refused(void **state)
{
	const struct hand_book *hand = *state;

	assert_int_equal(fcntl(hand->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	assert_int_equal(open_fd(hand->fd), -EPERM);
}

static void *wait_for_answer(void *arg)
{
	const struct hand_book *hand = arg;
	struct abi_book_header *header = hand_header(hand);
	const struct timespec most = { .tv_sec = 10 };

	while (__atomic_load_n(&header->answer, __ATOMIC_ACQUIRE) == ABI_BOOK_UNANSWERED)
		if (syscall(SYS_futex, &header->answer, FUTEX_WAIT, ABI_BOOK_UNANSWERED, &most,
			    NULL, 0) < 0 &&
		    errno == ETIMEDOUT)
			return NULL;
	return header;
}

static void an_answer_wakes_who_waits_for_it(void **state)
{
	struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	pthread_t thread;
	void *answered;

	assert_int_equal(pthread_create(&thread, NULL, wait_for_answer, hand), 0);
	usleep(1000);
	assert_int_equal(book_answer(book, ABI_BOOK_READ), 0);
	assert_int_equal(pthread_join(thread, &answered), 0);
	assert_non_null(answered);
	assert_int_equal(hand_header(hand)->answer, ABI_BOOK_READ);
}

static void the_process_is_told_of_cuts_and_time(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);

	assert_int_equal(book_tell(book, CUT, 77), 0);
	assert_int_equal(hand_header(hand)->cut_epoch, CUT);
	assert_int_equal(hand_header(hand)->tick, 77);
}

static int await(const struct book *book)
{
	return book_await(book, clock_monotonic_ns() + SOON_NS);
}

static void *moves_on(void *arg)
{
	usleep(2000);
	__atomic_fetch_add(&((struct abi_book_thread *)arg)->at, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void threads_in_a_change_are_waited_for(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct abi_book_thread *thread = hand_thread(hand, 100);
	pthread_t other;

	assert_int_equal(await(book), 0);
	thread->tid = 5;
	thread->at = 3;
	assert_int_equal(await(book), 0); /* not one of those that have begun */
	hand_header(hand)->threads = 100;
	assert_int_equal(await(book), -ETIME);
	assert_int_equal(pthread_create(&other, NULL, moves_on, thread), 0);
	assert_int_equal(book_await(book, clock_monotonic_ns() + 10 * SECOND_NS), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(thread->at, 4);
	assert_int_equal(await(book), 0);
	hand_header(hand)->threads = UINT32_MAX;
	assert_int_equal(await(book), 0);
}

static void totals_are_those_at_the_cut(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct abi_book_header *header = hand_header(hand);
	struct book_totals totals;

	header->live_bytes = 10;
	header->peak_bytes = 50;
	header->peak_epoch = 3;
	header->cut_peak_bytes = 40;
	header->cut_peak_epoch = 2;
	header->cut_epoch_seen = CUT - ABI_CUT_STEP;
	header->failed = 6;
	header->unknown_frees = 7;
	header->race_bytes = 8;
	header->lost[ABI_BOOK_LOST_FORK] = 9;
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(totals.live_bytes, 10);
	assert_int_equal(totals.peak_bytes, 50);
	assert_int_equal(totals.peak_epoch, 3);
	assert_int_equal(totals.failed, 6);
	assert_int_equal(totals.unknown_frees, 7);
	assert_int_equal(totals.race_bytes, 8);
	assert_int_equal(totals.lost[ABI_BOOK_LOST_FORK], 9);
	header->cut_epoch_seen = CUT;
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(totals.peak_bytes, 40);
	assert_int_equal(totals.peak_epoch, 2);
	/* A thread that never ends saving it. */
	header->cut_epoch_seen = CUT | ABI_CUT_BUSY;
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(totals.peak_bytes, 50);
}

/* Else they would add up to none. */
static void losses_are_bounded(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_totals totals;

	hand_header(hand)->lost[ABI_BOOK_LOST_FORK] = UINT64_MAX - 4;
	hand_header(hand)->lost[ABI_BOOK_LOST_BLOCKS] = 5;
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(totals.lost[ABI_BOOK_LOST_FORK], UINT32_MAX);
	assert_int_equal(totals.lost[ABI_BOOK_LOST_BLOCKS], 5);
}

static void what_threads_may_use_again_is_not_live(void **state)
{
	const struct hand_book *hand = *state;
	_cleanup_(book_close_p) struct book *book = open_hand(hand);
	struct book_totals totals;

	hand_header(hand)->live_bytes = 1000;
	hand_header(hand)->threads = 70;
	hand_thread(hand, 1)->credit = 100;
	hand_thread(hand, 70)->credit = 20;
	hand_thread(hand, 71)->credit = 3;
	assert_int_equal(book_read_totals(book, CUT, &totals), 0);
	assert_int_equal(totals.live_bytes, 880);
}

int main(void)
{
#define BOOK_TEST(f) cmocka_unit_test_setup_teardown(f, hand_book_setup, hand_book_teardown)
	const struct CMUnitTest tests[] = {
		BOOK_TEST(a_book_is_opened_and_keeps_its_size),
		BOOK_TEST(what_is_no_book_is_refused),
		BOOK_TEST(a_book_of_another_size_is_refused),
		BOOK_TEST(a_book_whose_size_is_not_sealed_is_refused),
		BOOK_TEST(a_header_that_is_a_hole_can_be_written),
		BOOK_TEST(a_book_that_cannot_be_written_is_refused),
		BOOK_TEST(an_answer_wakes_who_waits_for_it),
		BOOK_TEST(the_process_is_told_of_cuts_and_time),
		BOOK_TEST(threads_in_a_change_are_waited_for),
		BOOK_TEST(totals_are_those_at_the_cut),
		BOOK_TEST(losses_are_bounded),
		BOOK_TEST(what_threads_may_use_again_is_not_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
