// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_blocks.h"

/* Buckets that a block may be in beside its first one. */
#define OTHERS 16
/* A bucket for so many bytes of the heap, a page of the table for 32 of them. */
#define BYTES_SHIFT 7
#define PAGE_BUCKETS 32

_Static_assert(PAGE_BUCKETS * sizeof(struct abi_book_bucket) == 4096, "a page");

static uint64_t mix(uint64_t word)
{
	return word * UINT64_C(0x9e3779b97f4a7c15);
}

/* Blocks of one page of the heap share one of the table. */
static uint64_t first_place(const struct book_blocks *blocks, uint64_t address)
{
	uint64_t granule = address >> BYTES_SHIFT;
	uint64_t page = mix(granule / PAGE_BUCKETS) >> 32;

	return (page * PAGE_BUCKETS + granule % PAGE_BUCKETS) & (blocks->n - 1);
}

static struct abi_book_bucket *first_bucket(const struct book_blocks *blocks, uint64_t address)
{
	return &blocks->buckets[first_place(blocks, address)];
}

/* Those for what finds its first one full lie anywhere: neighbours of a full one are full, too. */
static struct abi_book_bucket *other_bucket(const struct book_blocks *blocks, uint64_t address,
					    uint64_t i)
{
	uint64_t hash = mix(address >> 3) + i * UINT64_C(0xd1b54a32d192ed03);

	return &blocks->buckets[hash >> 32 & (blocks->n - 1)];
}

void book_blocks_load(const struct book_blocks *blocks, uint64_t address)
{
	const struct abi_book_bucket *first = first_bucket(blocks, address);

	__builtin_prefetch(first, 1);
	__builtin_prefetch(first->block + ABI_BOOK_WAYS - 1, 1);
}

static uint64_t address_in(const struct abi_book_bucket *bucket, int way)
{
	return __atomic_load_n(&bucket->address[way], __ATOMIC_ACQUIRE);
}

static bool claim(struct abi_book_bucket *bucket, int way, __u64 from, bool alone)
{
	if (alone) {
		if (bucket->address[way] != from)
			return false;
		bucket->address[way] = ABI_BLOCK_BUSY;
		return true;
	}
	return __atomic_compare_exchange_n(&bucket->address[way], &from, ABI_BLOCK_BUSY, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * Of blocks that are elsewhere: how many, and in the upper half a bit for each address by its hash,
 * so that most that are nowhere need not be looked for.
 */
static uint64_t bit_of(uint64_t address)
{
	return UINT64_C(1) << (32 + (mix(address) >> 59));
}

static bool may_be_elsewhere(const struct abi_book_bucket *first, uint64_t address)
{
	return __atomic_load_n(&first->elsewhere, __ATOMIC_ACQUIRE) & bit_of(address);
}

static void add_elsewhere(struct abi_book_bucket *first, uint64_t address)
{
	__u64 was = __atomic_load_n(&first->elsewhere, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(&first->elsewhere, &was, (was + 1) | bit_of(address),
					    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

static void remove_elsewhere(struct abi_book_bucket *first)
{
	__u64 was = __atomic_load_n(&first->elsewhere, __ATOMIC_RELAXED), is;

	do
		is = (uint32_t)was == 1 ? 0 : was - 1;
	while (!__atomic_compare_exchange_n(&first->elsewhere, &was, is, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED));
}

static bool take_from(struct abi_book_bucket *bucket, uint64_t address, bool alone,
		      struct book_block *ret_block)
{
	for (int way = 0; way < ABI_BOOK_WAYS; way++) {
		if (address_in(bucket, way) != address)
			continue;
		if (!claim(bucket, way, address, alone))
			return false;
		*ret_block = (struct book_block){ address, bucket->block[way] };
		/* Who frees it once more is told so. A mark that a block sheds leaves none. */
		__atomic_store_n(&bucket->address[way],
				 address & ABI_BOOK_SHED ? 0 : address | ABI_BOOK_FREED,
				 __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

bool book_blocks_take(struct book_blocks *blocks, uint64_t address, bool alone,
		      struct book_block *ret_block)
{
	struct abi_book_bucket *first = first_bucket(blocks, address);

	if (take_from(first, address, alone, ret_block))
		return true;
	if (!may_be_elsewhere(first, address))
		return false;
	for (uint64_t i = 0; i < OTHERS; i++) {
		if (!take_from(other_bucket(blocks, address, i), address, alone, ret_block))
			continue;
		remove_elsewhere(first);
		return true;
	}
	return false;
}

/* What is between two readings of the same address was written before. */
static bool find_in(const struct abi_book_bucket *bucket, uint64_t address,
		    struct book_block *ret_block)
{
	for (int way = 0; way < ABI_BOOK_WAYS; way++) {
		if (address_in(bucket, way) != address)
			continue;
		*ret_block = (struct book_block){ address, bucket->block[way] };
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		return address_in(bucket, way) == address;
	}
	return false;
}

/* always: wherever the first bucket says that it may be. */
static bool find_with(const struct book_blocks *blocks, uint64_t address, bool always,
		      struct book_block *ret_block)
{
	const struct abi_book_bucket *first = first_bucket(blocks, address);

	if (find_in(first, address, ret_block))
		return true;
	for (uint64_t i = 0; i < OTHERS && (always || may_be_elsewhere(first, address)); i++)
		if (find_in(other_bucket(blocks, address, i), address, ret_block))
			return true;
	return false;
}

bool book_blocks_find(const struct book_blocks *blocks, uint64_t address,
		      struct book_block *ret_block)
{
	const struct book_blocks doubled = { .buckets = blocks->buckets, .n = 2 * blocks->n };

	if (!blocks->doubles)
		return find_with(blocks, address, false, ret_block);
	/* Its old place is emptied after its new one is filled. */
	return find_with(blocks, address, true, ret_block) ||
	       find_with(&doubled, address, true, ret_block);
}

static bool is_free(uint64_t address)
{
	return !address || (address & ABI_BOOK_FREED && address != ABI_BLOCK_BUSY);
}

static bool put_into(struct abi_book_bucket *bucket, const struct book_block *block, bool alone)
{
	for (int way = 0; way < ABI_BOOK_WAYS; way++) {
		uint64_t was = address_in(bucket, way);

		if (!is_free(was) || !claim(bucket, way, was, alone))
			continue;
		bucket->block[way] = block->is;
		__atomic_store_n(&bucket->address[way], block->address, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

/* Is one of this address there, whose end was not seen? */
static __attribute__((noinline)) void take_stale(struct book_blocks *blocks, uint64_t address,
						 bool alone, struct book_block *ret_stale)
{
	if (!book_blocks_take(blocks, address, alone, ret_stale))
		ret_stale->address = 0;
}

static bool may_have(const struct abi_book_bucket *first, uint64_t address)
{
	bool found = may_be_elsewhere(first, address);

	for (int way = 0; way < ABI_BOOK_WAYS; way++)
		found |= address_in(first, way) == address;
	return found;
}

static bool put_elsewhere(struct book_blocks *blocks, struct abi_book_bucket *first,
			  const struct book_block *block, bool alone)
{
	/* First, so that who does not find it there looks on. */
	add_elsewhere(first, block->address);
	for (uint64_t i = 0; i < OTHERS; i++) {
		struct abi_book_bucket *other = other_bucket(blocks, block->address, i);

		/* What is found in the first one is not counted as elsewhere. */
		if (other != first && put_into(other, block, alone))
			return true;
	}
	remove_elsewhere(first);
	return false;
}

enum book_added book_blocks_add(struct book_blocks *blocks, const struct book_block *block,
				bool alone, struct book_block *ret_stale)
{
	struct abi_book_bucket *first = first_bucket(blocks, block->address);

	ret_stale->address = 0;
	if (__builtin_expect(may_have(first, block->address), 0))
		take_stale(blocks, block->address, alone, ret_stale);
	if (put_into(first, block, alone) || put_elsewhere(blocks, first, block, alone))
		return BOOK_ADDED;
	return BOOK_FULL;
}

uint64_t book_blocks_elsewhere(const struct book_blocks *blocks)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < blocks->n; i++)
		n += (uint32_t)blocks->buckets[i].elsewhere;
	return n;
}

static struct book_birth *birth_at(const struct book_blocks *blocks,
				   const struct abi_book_bucket *bucket, int way)
{
	return &blocks->births[(bucket - blocks->buckets) * ABI_BOOK_WAYS + way];
}

static struct book_birth *birth_in(const struct book_blocks *blocks,
				   const struct abi_book_bucket *bucket, uint64_t address)
{
	for (int way = 0; way < ABI_BOOK_WAYS; way++)
		if (address_in(bucket, way) == address)
			return birth_at(blocks, bucket, way);
	return NULL;
}

struct book_birth *book_blocks_birth(const struct book_blocks *blocks, uint64_t address)
{
	const struct abi_book_bucket *first = first_bucket(blocks, address);
	struct book_birth *birth = blocks->births ? birth_in(blocks, first, address) : NULL;

	if (!blocks->births || birth || !may_be_elsewhere(first, address))
		return birth;
	for (uint64_t i = 0; i < OTHERS && !birth; i++)
		birth = birth_in(blocks, other_bucket(blocks, address, i), address);
	return birth;
}

/* To the same way of a bucket in the upper half. */
static void move_up(const struct book_blocks *doubled, struct abi_book_bucket *from, int way)
{
	struct abi_book_bucket *to = from + doubled->n / 2;

	if (doubled->births)
		*birth_at(doubled, to, way) = *birth_at(doubled, from, way);
	to->block[way] = from->block[way];
	__atomic_store_n(&to->address[way], from->address[way], __ATOMIC_RELEASE);
	__atomic_store_n(&from->address[way], 0, __ATOMIC_RELEASE);
}

/*
 * What is in its first bucket, number i of the lower half, stays there or goes to the one that
 * many above it; the places of the others are added to `places`. Of a change whose thread has
 * vanished in the middle nothing is known.
 */
static uint64_t split(const struct book_blocks *doubled, uint64_t i, uint32_t *places)
{
	uint64_t half = doubled->n / 2, n = 0;
	struct abi_book_bucket *bucket = &doubled->buckets[i];

	bucket->elsewhere = 0;
	for (int way = 0; way < ABI_BOOK_WAYS; way++) {
		uint64_t address = bucket->address[way];
		uint64_t place = first_place(doubled, address);

		if (address == ABI_BLOCK_BUSY)
			bucket->address[way] = 0;
		else if (!address || place == i)
			continue;
		else if (place == i + half)
			move_up(doubled, bucket, way);
		else if (is_free(address))
			bucket->address[way] = 0;
		else
			places[n++] = (uint32_t)(i * ABI_BOOK_WAYS + (uint64_t)way);
	}
	return n;
}

uint64_t book_blocks_double(struct book_blocks *blocks, uint32_t *places)
{
	uint64_t half = blocks->n, n = 0, n_lost = 0;

	blocks->n = 2 * half;
	for (uint64_t i = 0; i < half; i++)
		n += split(blocks, i, places + n);
	for (uint64_t i = 0; i < n; i++) {
		struct abi_book_bucket *from = &blocks->buckets[places[i] / ABI_BOOK_WAYS];
		int way = (int)(places[i] % ABI_BOOK_WAYS);
		const struct book_block block = { from->address[way], from->block[way] };
		struct abi_book_bucket *first = first_bucket(blocks, block.address);
		struct book_birth *birth;

		n_lost += !put_into(first, &block, true) &&
			  !put_elsewhere(blocks, first, &block, true);
		__atomic_store_n(&from->address[way], 0, __ATOMIC_RELEASE);
		birth = book_blocks_birth(blocks, block.address);
		if (birth)
			*birth = *birth_at(blocks, from, way);
	}
	return n_lost;
}

void book_blocks_use(struct book_blocks *blocks, struct abi_book_bucket *buckets,
		     uint32_t doublings)
{
	blocks->buckets = buckets;
	blocks->n = ABI_BOOK_BUCKETS(doublings & ~ABI_BOOK_DOUBLES);
	blocks->doubles = doublings & ABI_BOOK_DOUBLES;
	blocks->births = NULL;
}
