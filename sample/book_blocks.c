// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_blocks.h"

/* Buckets that a block may be in beside its first one: of more, tables are fuller. */
#define OTHERS 10
/* Of these, neighbours, which are in the same page. */
#define NEIGHBOURS 2
/* A bucket for so many bytes of the heap, one after the other in each region of it. */
#define BYTES_SHIFT 7
#define REGION_SHIFT 26

static uint64_t mix(uint64_t word)
{
	return word * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * Neighbours in memory are neighbours in the table. A heap that is larger than the table lies in it
 * in so many layers everywhere, where pages that are put anywhere would overfill some buckets long
 * before the others.
 */
static uint64_t first_place(const struct book_blocks *blocks, uint64_t address)
{
	uint64_t begin = mix(address >> REGION_SHIFT) >> 32;

	return (begin + (address >> BYTES_SHIFT)) & (blocks->n - 1);
}

static struct abi_book_bucket *first_bucket(const struct book_blocks *blocks, uint64_t address)
{
	return &blocks->buckets[first_place(blocks, address)];
}

/* Where neighbours of a full one are full, too, it is one that lies anywhere. */
static struct abi_book_bucket *other_bucket(const struct book_blocks *blocks, uint64_t address,
					    uint64_t i)
{
	uint64_t hash = mix(address >> 3) + i * UINT64_C(0xd1b54a32d192ed03);

	if (i < NEIGHBOURS)
		return &blocks->buckets[first_place(blocks, address) ^ (1 << i)];
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
 * Of blocks that are elsewhere: marks, each of which says where one is and has a part of its hash,
 * so that what is nowhere is hardly ever looked for, and how many there are beside these:
 *   63   48 47   36 35   24 23   12 11    0
 *   | more | mark  | mark  | mark  | mark  |
 */
#define MARKS 4
#define MARK_BITS 12
#define MARK_MASK ((UINT64_C(1) << MARK_BITS) - 1)
#define MARKS_MORE (UINT64_C(1) << MARKS * MARK_BITS)

#define PLACE_BITS 4

_Static_assert(OTHERS <= 1 << PLACE_BITS, "mark_of()");

/* Not 0. */
static uint64_t mark_of(uint64_t address, uint64_t i)
{
	return (mix(address) >> 57 | 1 << 7) << PLACE_BITS | i;
}

static uint64_t with_mark(uint64_t marks, uint64_t mark)
{
	for (int i = 0; i < MARKS * MARK_BITS; i += MARK_BITS)
		if (!(marks >> i & MARK_MASK))
			return marks | mark << i;
	return marks + MARKS_MORE;
}

/* Where two have the same mark, either is as good. */
static uint64_t without_mark(uint64_t marks, uint64_t mark)
{
	for (int i = 0; i < MARKS * MARK_BITS; i += MARK_BITS)
		if ((marks >> i & MARK_MASK) == mark)
			return marks & ~(MARK_MASK << i);
	return marks - MARKS_MORE;
}

/* The others that it may be in: bits. */
static uint32_t elsewhere(const struct abi_book_bucket *first, uint64_t address)
{
	uint64_t marks = __atomic_load_n(&first->elsewhere, __ATOMIC_ACQUIRE);
	uint64_t hash = mark_of(address, 0) >> PLACE_BITS;
	uint32_t where = 0;

	if (marks >= MARKS_MORE)
		return (1U << OTHERS) - 1;
	for (; marks; marks >>= MARK_BITS)
		if ((marks & MARK_MASK) >> PLACE_BITS == hash)
			where |= 1U << marks % (1 << PLACE_BITS);
	return where;
}

/* False: they are too many to be counted. */
static bool add_elsewhere(struct abi_book_bucket *first, uint64_t mark)
{
	__u64 was = __atomic_load_n(&first->elsewhere, __ATOMIC_RELAXED);

	do
		if (was >= UINT64_MAX - MARKS_MORE)
			return false;
	while (!__atomic_compare_exchange_n(&first->elsewhere, &was, with_mark(was, mark), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return true;
}

static void remove_elsewhere(struct abi_book_bucket *first, uint64_t mark)
{
	__u64 was = __atomic_load_n(&first->elsewhere, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(&first->elsewhere, &was, without_mark(was, mark), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
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
	for (uint32_t where = elsewhere(first, address); where; where &= where - 1) {
		uint64_t i = (uint64_t)__builtin_ctz(where);

		if (!take_from(other_bucket(blocks, address, i), address, alone, ret_block))
			continue;
		remove_elsewhere(first, mark_of(address, i));
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
	uint32_t where = always ? (1U << OTHERS) - 1 : elsewhere(first, address);

	if (find_in(first, address, ret_block))
		return true;
	for (; where; where &= where - 1)
		if (find_in(other_bucket(blocks, address, (uint64_t)__builtin_ctz(where)), address,
			    ret_block))
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

/* A way that is free, and is then the caller's to fill; -1: there is none. */
static int claim_free(struct abi_book_bucket *bucket, bool alone)
{
	for (int way = 0; way < ABI_BOOK_WAYS; way++) {
		uint64_t was = address_in(bucket, way);

		if (is_free(was) && claim(bucket, way, was, alone))
			return way;
	}
	return -1;
}

static void fill(struct abi_book_bucket *bucket, int way, const struct book_block *block)
{
	bucket->block[way] = block->is;
	__atomic_store_n(&bucket->address[way], block->address, __ATOMIC_RELEASE);
}

static bool put_into(struct abi_book_bucket *bucket, const struct book_block *block, bool alone)
{
	int way = claim_free(bucket, alone);

	if (way >= 0)
		fill(bucket, way, block);
	return way >= 0;
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
	bool found = elsewhere(first, address);

	for (int way = 0; way < ABI_BOOK_WAYS; way++)
		found |= address_in(first, way) == address;
	return found;
}

/* The mark is there before the block, so that who looks for that finds it. */
static __attribute__((noinline)) bool put_elsewhere(struct book_blocks *blocks,
						    struct abi_book_bucket *first,
						    const struct book_block *block, bool alone)
{
	for (uint64_t i = 0; i < OTHERS; i++) {
		struct abi_book_bucket *other = other_bucket(blocks, block->address, i);
		/* What is found in the first one is not counted as elsewhere. */
		int way = other == first ? -1 : claim_free(other, alone);

		if (way < 0)
			continue;
		if (!add_elsewhere(first, mark_of(block->address, i))) {
			__atomic_store_n(&other->address[way], 0, __ATOMIC_RELEASE);
			return false;
		}
		fill(other, way, block);
		return true;
	}
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

	for (uint64_t i = 0; i < blocks->n; i++) {
		uint64_t marks = blocks->buckets[i].elsewhere;

		n += marks / MARKS_MORE;
		for (marks %= MARKS_MORE; marks; marks >>= MARK_BITS)
			n += (marks & MARK_MASK) != 0;
	}
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

	if (!blocks->births || birth)
		return birth;
	for (uint32_t where = elsewhere(first, address); where && !birth; where &= where - 1)
		birth = birth_in(blocks,
				 other_bucket(blocks, address, (uint64_t)__builtin_ctz(where)),
				 address);
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
