/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "book_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

struct hand_book hand_book_new(void)
{
	struct hand_book hand = {
		.fd = memfd_create(ABI_BOOK_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING),
	};

	assert_true(hand.fd >= 0);
	assert_int_equal(ftruncate(hand.fd, (off_t)ABI_BOOK_BYTES), 0);
	assert_int_equal(fcntl(hand.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	hand.bytes = mmap(NULL, ABI_BOOK_MAPPED, PROT_READ | PROT_WRITE, MAP_SHARED, hand.fd, 0);
	assert_true(hand.bytes != MAP_FAILED);
	assert_int_equal(mprotect(hand.bytes + ABI_BOOK_BYTES, ABI_BOOK_FENCE, PROT_NONE), 0);
	hand_header(&hand)->magic = ABI_BOOK_MAGIC;
	hand_header(&hand)->version = ABI_BOOK_VERSION;
	hand_header(&hand)->pid = (uint32_t)getpid();
	return hand;
}

void hand_book_done(struct hand_book *hand)
{
	munmap(hand->bytes, ABI_BOOK_MAPPED);
	close(hand->fd);
}

struct abi_book_header *hand_header(const struct hand_book *hand)
{
	return (struct abi_book_header *)hand->bytes;
}

struct abi_book_thread *hand_thread(const struct hand_book *hand, uint32_t number)
{
	return (struct abi_book_thread *)(hand->bytes + ABI_BOOK_AT_THREADS) + number;
}

struct abi_book_node *hand_node(const struct hand_book *hand, uint32_t number)
{
	return (struct abi_book_node *)(hand->bytes + ABI_BOOK_AT_NODES) + number;
}

struct abi_book_site *hand_site(const struct hand_book *hand, uint32_t number)
{
	return (struct abi_book_site *)(hand->bytes + ABI_BOOK_AT_SITES) + number;
}

struct abi_book_site_cut *hand_site_cut(const struct hand_book *hand, uint32_t number)
{
	return (struct abi_book_site_cut *)(hand->bytes + ABI_BOOK_AT_CUTS) + number;
}

struct abi_book_tomb *hand_tomb(const struct hand_book *hand, uint32_t number)
{
	return (struct abi_book_tomb *)(hand->bytes + ABI_BOOK_AT_TOMBS) + number;
}

struct abi_book_error *hand_error(const struct hand_book *hand, uint32_t number)
{
	return (struct abi_book_error *)(hand->bytes + ABI_BOOK_AT_ERRORS) + number;
}

struct abi_book_bucket *hand_bucket(const struct hand_book *hand, uint64_t number)
{
	return (struct abi_book_bucket *)(hand->bytes + ABI_BOOK_AT_BLOCKS) + number;
}

int hand_book_setup(void **state)
{
	static struct hand_book hand;

	hand = hand_book_new();
	*state = &hand;
	return 0;
}

int hand_book_teardown(void **state)
{
	hand_book_done(*state);
	return 0;
}

struct book *open_hand(const struct hand_book *hand)
{
	struct book *book;

	assert_int_equal(book_open(getpid(), hand->fd, &book), 0);
	return book;
}

void hand_write_much(const struct hand_book *hand)
{
	assert_int_equal(fallocate(hand->fd, FALLOC_FL_KEEP_SIZE,
				   (off_t)(ABI_BOOK_AT_BLOCKS + (1ULL << 30)), 1 << 25),
			 0);
}
