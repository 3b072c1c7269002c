// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_frees.h"

#include <string.h>

/* --- pairs ------------------------------------------------------------------------------------ */

struct pair_key {
	uint32_t node, free_node;
	uint16_t function, free_function;
};

static uint64_t hash_of(const struct pair_key *key)
{
	uint64_t nodes = (uint64_t)key->node << 32 | key->free_node;
	uint64_t functions = (uint64_t)key->function << 16 | key->free_function;

	return (nodes * UINT64_C(0xff51afd7ed558ccd) ^ functions) * UINT64_C(0x9e3779b97f4a7c15) >>
	       32;
}

static struct pair_key key_of(uint32_t number)
{
	const struct abi_book_pair *pair = &book.pairs[number];

	return (struct pair_key){ pair->node, pair->free_node, pair->function,
				  pair->free_function };
}

static uint64_t hash_of_pair(uint32_t number)
{
	const struct pair_key key = key_of(number);

	return hash_of(&key);
}

static bool is_pair(uint32_t number, const void *key)
{
	const struct pair_key is = key_of(number), *k = key;

	return is.node == k->node && is.free_node == k->free_node && is.function == k->function &&
	       is.free_function == k->free_function;
}

static struct abi_book_pair *make_pair(struct book_thread *thread, const struct pair_key *key)
{
	uint32_t number = book_next_number(&book.header->pairs, ABI_BOOK_PAIRS);
	struct abi_book_pair *pair = &book.pairs[number];

	if (!number)
		return NULL;
	pair->node = key->node;
	pair->free_node = key->free_node;
	pair->function = key->function;
	pair->free_function = key->free_function;
	/* Readers know by it that the rest is there. */
	__atomic_store_n(&pair->thread, thread->number, __ATOMIC_RELEASE);
	book_index_put(&thread->pairs, hash_of(key), number);
	return pair;
}

/* The thread's entry; NULL: there is no room. */
static struct abi_book_pair *find_pair(struct book_thread *thread, const struct pair_key *key)
{
	uint32_t number = book_index_find(&thread->pairs, hash_of(key), is_pair, key);

	if (number)
		return &book.pairs[number];
	if (!book_index_make_room(&thread->pairs, BOOK_INDEX_FAST, hash_of_pair))
		return NULL;
	return make_pair(thread, key);
}

/* abi_free_pair.lifetimes */
static uint32_t lifetime_bucket(uint64_t ns)
{
	uint32_t bits = ns >> ABI_LIFETIME_SHIFT ?
				64 - (uint32_t)__builtin_clzll(ns >> ABI_LIFETIME_SHIFT) :
				0;

	return bits < ABI_LIFETIMES ? bits : ABI_LIFETIMES - 1;
}

static void count_lifetime(struct abi_free_pair *counts, uint32_t tid,
			   const struct book_birth *birth, uint64_t now_ns)
{
	uint64_t ns = now_ns > birth->time_ns ? now_ns - birth->time_ns : 0;

	if (!birth->time_ns) {
		counts->unknown++;
		return;
	}
	counts->others += birth->tid != tid;
	counts->total_ns += ns;
	counts->lifetimes[lifetime_bucket(ns)]++;
}

BOOK_SELDOM void book_pair_add(struct book_thread *thread, const struct book_block *block,
			       const struct book_birth *birth, const struct book_free *by)
{
	const struct pair_key key = { block->is.node, by->node,
				      (uint16_t)ABI_BOOK_FN(block->is.size_fn),
				      (uint16_t)by->function };
	struct abi_book_pair *pair = find_pair(thread, &key);

	if (!pair) {
		book_lose(ABI_BOOK_LOST_PAIRS);
		return;
	}
	pair->counts.count++;
	pair->counts.bytes += ABI_BOOK_SIZE(block->is.size_fn);
	count_lifetime(&pair->counts, thread->shared->tid, birth, by->now_ns);
}

/* --- the newest frees ------------------------------------------------------------------------- */

static struct {
	uint32_t lock;
	uint32_t n; /* so many there are */
	uint32_t newest, oldest;
	uint32_t *heads; /* by hashes: numbers as those of abi_book_freed */
} freed;

static struct abi_book_freed *numbered(uint32_t number)
{
	return &book.freed[number - 1];
}

static uint32_t *head_of(uint64_t address)
{
	return &freed.heads[(address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32 &
			    (ABI_FREED_BLOCKS - 1)];
}

static bool have_heads(void)
{
	if (!freed.heads)
		freed.heads = book_pages(ABI_FREED_BLOCKS * sizeof(*freed.heads));
	return freed.heads != NULL;
}

/* 0: it is not there. */
static uint32_t find_locked(uint64_t address)
{
	uint32_t number = *head_of(address);

	while (number && numbered(number)->address != address)
		number = numbered(number)->next;
	return number;
}

static void leave_list(uint32_t number)
{
	const struct abi_book_freed *is = numbered(number);

	*(is->older ? &numbered(is->older)->newer : &freed.oldest) = is->newer;
	*(is->newer ? &numbered(is->newer)->older : &freed.newest) = is->older;
}

static void become_newest(uint32_t number)
{
	numbered(number)->older = freed.newest;
	numbered(number)->newer = 0;
	*(freed.newest ? &numbered(freed.newest)->newer : &freed.oldest) = number;
	freed.newest = number;
}

/* The oldest gives its place to this address. */
static uint32_t take_oldest(uint64_t address)
{
	uint32_t number = freed.oldest, *link = head_of(numbered(number)->address);

	leave_list(number);
	while (*link != number)
		link = &numbered(*link)->next;
	*link = numbered(number)->next;
	numbered(number)->next = *head_of(address);
	*head_of(address) = number;
	return number;
}

static uint32_t take_new(uint64_t address)
{
	uint32_t number = ++freed.n;

	numbered(number)->next = *head_of(address);
	*head_of(address) = number;
	return number;
}

static void add_locked(const struct book_block *block, const struct book_free *by)
{
	uint32_t number = find_locked(block->address);
	struct abi_book_freed *entry;

	if (number)
		leave_list(number);
	else if (freed.n == ABI_FREED_BLOCKS)
		number = take_oldest(block->address);
	else
		number = take_new(block->address);
	become_newest(number);
	entry = numbered(number);
	entry->address = block->address;
	entry->block = block->is;
	entry->node = by->node;
	entry->function = (uint16_t)by->function;
}

/* What cannot be remembered is not known to who reports a double free, which says so. */
BOOK_SELDOM void book_freed_add(const struct book_block *block, const struct book_free *by)
{
	if (!book_lock(&freed.lock))
		return;
	if (have_heads())
		add_locked(block, by);
	book_unlock(&freed.lock);
}

BOOK_SELDOM bool book_freed_find(uint64_t address, struct book_block *ret_block,
				 struct book_free *ret_by)
{
	uint32_t number;

	if (!freed.heads || !book_lock(&freed.lock))
		return false;
	number = find_locked(address);
	if (number) {
		const struct abi_book_freed *is = numbered(number);

		*ret_block = (struct book_block){ address, is->block };
		*ret_by = (struct book_free){ .function = is->function, .node = is->node };
	}
	book_unlock(&freed.lock);
	return number != 0;
}

void book_frees_begin(void)
{
	book_pages_free(freed.heads, ABI_FREED_BLOCKS * sizeof(*freed.heads));
	memset(&freed, 0, sizeof(freed));
}
