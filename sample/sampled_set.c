/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/sampled_set.h"

#include <sys/mman.h>

#define FIRST_BUCKETS 1024
#define FILTER_FULL UINT8_MAX /* then it is not known any more how many there are */
#define SLOT_FREE 0
#define ENDING UINT64_C(1)
#define NUMBER_SHIFT 48
#define ADDRESS_MASK ((UINT64_C(1) << NUMBER_SHIFT) - 1)

struct bucket {
	uint64_t words[SAMPLED_BUCKET];
};

struct sampled_segment {
	uint64_t n_buckets; /* a power of two */
	struct bucket buckets[] __attribute__((aligned(64)));
};

/* Fibonacci hashing; its upper bits are the good ones. */
static struct bucket *bucket_of(struct sampled_segment *segment, uint64_t address)
{
	uint64_t hash = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	return &segment->buckets[(hash >> 32) & (segment->n_buckets - 1)];
}

static struct sampled_segment *segment_at(struct sampled_set *set, int i)
{
	return __atomic_load_n(&set->segments[i], __ATOMIC_ACQUIRE);
}

/* Two threads may do it at the same time: one segment is then given back. */
static struct sampled_segment *add_segment(struct sampled_set *set, int i)
{
	uint64_t n = (uint64_t)FIRST_BUCKETS << (i ? i - 1 : 0);
	size_t size = sizeof(struct sampled_segment) + n * sizeof(struct bucket);
	struct sampled_segment *segment, *there = NULL;

	segment = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (segment == MAP_FAILED)
		return NULL;
	segment->n_buckets = n;
	if (__atomic_compare_exchange_n(&set->segments[i], &there, segment, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return segment;
	(void)munmap(segment, size); /* it was never used */
	return there;
}

void sampled_set_mark(struct sampled_set *set, const void *block)
{
	uint8_t *count = &set->filter[sampled_filter_index(block)];
	uint8_t was = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (was != FILTER_FULL &&
	       !__atomic_compare_exchange_n(count, &was, was + 1, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static void unmark(struct sampled_set *set, const void *block)
{
	uint8_t *count = &set->filter[sampled_filter_index(block)];
	uint8_t was = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (was != FILTER_FULL && was != 0 &&
	       !__atomic_compare_exchange_n(count, &was, was - 1, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static bool change_slot(uint64_t *slot, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static bool bucket_add(struct bucket *bucket, uint64_t word)
{
	for (int i = 0; i < SAMPLED_BUCKET; i++) {
		uint64_t *slot = &bucket->words[i];

		if (__atomic_load_n(slot, __ATOMIC_RELAXED) == SLOT_FREE &&
		    change_slot(slot, SLOT_FREE, word))
			return true;
	}
	return false;
}

bool sampled_set_add(struct sampled_set *set, const void *block)
{
	uint64_t address = (uintptr_t)block & ADDRESS_MASK;
	uint64_t number = __atomic_fetch_add(&set->added, 1, __ATOMIC_RELAXED);

	for (int i = 0; i < SAMPLED_SEGMENTS; i++) {
		struct sampled_segment *segment = segment_at(set, i);

		if (!segment)
			segment = add_segment(set, i);
		if (!segment)
			return false;
		if (!bucket_add(bucket_of(segment, address), address | number << NUMBER_SHIFT))
			continue;
		sampled_set_mark(set, block);
		return true;
	}
	return false;
}

/* Of an address that is not 0. */
static bool bucket_find(struct bucket *bucket, uint64_t address, struct sampled_entry *ret_entry)
{
	for (int i = 0; i < SAMPLED_BUCKET; i++) {
		uint64_t *slot = &bucket->words[i];
		uint64_t word = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if ((word & ADDRESS_MASK & ~ENDING) != address)
			continue;
		*ret_entry = (struct sampled_entry){ slot, word };
		return true;
	}
	return false;
}

bool sampled_set_find(struct sampled_set *set, const void *block, struct sampled_entry *ret_entry)
{
	uint64_t address = (uintptr_t)block & ADDRESS_MASK;

	/* A free slot has that address. */
	if (address == 0)
		return false;
	for (int i = 0; i < SAMPLED_SEGMENTS; i++) {
		struct sampled_segment *segment = segment_at(set, i);

		if (!segment)
			return false;
		if (bucket_find(bucket_of(segment, address), address, ret_entry))
			return true;
	}
	return false;
}

bool sampled_set_end(const struct sampled_entry *entry)
{
	return !(entry->word & ENDING) &&
	       change_slot(entry->slot, entry->word, entry->word | ENDING);
}

void sampled_set_remove(struct sampled_set *set, const void *block,
			const struct sampled_entry *entry)
{
	__atomic_store_n(entry->slot, SLOT_FREE, __ATOMIC_RELEASE);
	unmark(set, block);
}
