// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_errors.h"

#include "sample/book_clock.h"
#include "sample/book_forks.h"
#include "sample/walk.h"

/* Bytes before an address that are searched for the block that it is in. */
#define INSIDE_SEARCH 4096

static uint32_t lock;

void book_errors_begin(void)
{
	lock = 0;
}

static struct abi_book_error *errors(void)
{
	return (struct abi_book_error *)(void *)((char *)book.header + ABI_BOOK_AT_ERRORS);
}

static bool is_same(const struct abi_book_error *a, const struct book_error *b)
{
	return a->kind == b->kind && a->function == b->function && a->node == b->node;
}

/* Readers take those up to header.errors. */
static void add_locked(const struct book_error *error)
{
	struct abi_book_error *added;
	uint32_t n = book.header->errors;

	for (uint32_t i = 0; i < n; i++)
		if (is_same(&errors()[i], error)) {
			errors()[i].count++;
			return;
		}
	if (n == ABI_BOOK_ERRORS) {
		book.header->further_errors++;
		return;
	}
	added = &errors()[n];
	*added = (struct abi_book_error){ .node = error->node,
					  .function = (uint16_t)error->function,
					  .kind = (uint16_t)error->kind,
					  .count = 1,
					  .time_ns = book_now_ns(),
					  .addr = error->addr,
					  .size = error->size,
					  .block = error->about.address,
					  .about = error->about.is,
					  .freed_node = error->freed.node,
					  .freed_function = (uint16_t)error->freed.function,
					  .tid = error->tid };
	__atomic_store_n(&book.header->errors, n + 1, __ATOMIC_RELEASE);
}

BOOK_SELDOM void book_error_add(const struct book_error *error)
{
	if (!book_lock(&lock)) {
		__atomic_fetch_add(&book.header->further_errors, 1, __ATOMIC_RELAXED);
		return;
	}
	add_locked(error);
	book_unlock(&lock);
}

static bool is_anything_lost(void)
{
	for (int i = 0; i < ABI_BOOK_LOSSES; i++)
		if (!abi_book_loss_is_beside(i) && book.header->lost[i])
			return true;
	return book_is_orphan();
}

static bool read_word(uint64_t address, uint64_t *ret)
{
	if (!walk_can_read(address & ~4095ULL))
		return false;
	*ret = *(const uint64_t *)(uintptr_t)address;
	return true;
}

/* glibc's malloc.c: below a block its size, a multiple of 16, and below that what is before it. */
#define LEAST_CHUNK 32
#define PREVIOUS_IN_USE 1ULL
#define IS_MMAPPED 2ULL

/*
 * Does glibc's free() take it for a block? Then it was made by a call that did not come to us: by
 * an address of the C library's own malloc(), which dlsym(3) has given.
 */
static bool is_unseen_block(uint64_t address)
{
	uint64_t head, size, before, after;

	if (address % 16 || !read_word(address - 8, &head))
		return false;
	size = head & ~7ULL;
	if (size < LEAST_CHUNK || size % 16 || size >= ABI_ADDR_LIMIT)
		return false;
	if (head & IS_MMAPPED)
		return read_word(address - 16, &before) && (address - 16 - before) % 4096 == 0 &&
		       (before + size) % 4096 == 0;
	return read_word(address + size - 8, &after) && after & PREVIOUS_IN_USE;
}

BOOK_SELDOM uint32_t book_error_of_unknown(const struct book_blocks *blocks, uint64_t address)
{
	struct book_block block;
	struct book_free by;

	if (is_anything_lost())
		return 0;
	if (!(address & 7) && (book_freed_find(address, &block, &by) ||
			       book_blocks_find(blocks, address | ABI_BOOK_FREED, &block) ||
			       book_blocks_find(blocks, address | ABI_BOOK_SHED, &block)))
		return ABI_DOUBLE_FREE;
	if (is_unseen_block(address)) {
		book_lose(ABI_BOOK_LOST_UNKNOWN);
		return 0;
	}
	return ABI_INVALID_FREE;
}

BOOK_SELDOM struct book_block book_block_around(const struct book_blocks *blocks, uint64_t address)
{
	struct book_block block;

	for (uint64_t at = address & ~7ULL; address - at < INSIDE_SEARCH && at; at -= 8)
		if (book_blocks_find(blocks, at, &block) &&
		    address - at < ABI_BOOK_SIZE(block.is.size_fn))
			return block;
	return (struct book_block){ .address = 0 };
}
