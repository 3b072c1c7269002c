/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/sampled_set.h"

#include <sys/mman.h>

#define FIRST_BUCKETS 1024
#define FILTER_FULL UINT8_MAX /* then it is not known any more how many there are */
#define SLOT_FREE 0
#define SLOT_TAKEN 1 /* somebody is writing or reading it */

struct bucket {
	uint64_t addresses[SAMPLED_BUCKET];
	struct sampled_block blocks[SAMPLED_BUCKET];
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

/* Puts `to` where `from` is; the slot's number, or -1. */
static int change_slot(struct bucket *bucket, uint64_t from, uint64_t to)
{
	for (int i = 0; i < SAMPLED_BUCKET; i++) {
		uint64_t found = __atomic_load_n(&bucket->addresses[i], __ATOMIC_RELAXED);

		if (found == from &&
		    __atomic_compare_exchange_n(&bucket->addresses[i], &found, to, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return i;
	}
	return -1;
}

bool sampled_set_add(struct sampled_set *set, const void *block, const struct sampled_block *what)
{
	uint64_t address = (uintptr_t)block;

	for (int i = 0; i < SAMPLED_SEGMENTS; i++) {
		struct sampled_segment *segment = segment_at(set, i);
		struct bucket *bucket;
		int slot;

		if (!segment)
			segment = add_segment(set, i);
		if (!segment)
			return false;
		bucket = bucket_of(segment, address);
		slot = change_slot(bucket, SLOT_FREE, SLOT_TAKEN);
		if (slot < 0)
			continue;
		bucket->blocks[slot] = *what;
		__atomic_store_n(&bucket->addresses[slot], address, __ATOMIC_RELEASE);
		sampled_set_mark(set, block);
		return true;
	}
	return false;
}

bool sampled_set_take(struct sampled_set *set, const void *block, struct sampled_block *ret_what)
{
	uint64_t address = (uintptr_t)block;

	/* A slot that is free, or being written, is no block of that address. */
	if (address <= SLOT_TAKEN)
		return false;
	for (int i = 0; i < SAMPLED_SEGMENTS; i++) {
		struct sampled_segment *segment = segment_at(set, i);
		struct bucket *bucket;
		int slot;

		if (!segment)
			return false;
		bucket = bucket_of(segment, address);
		slot = change_slot(bucket, address, SLOT_TAKEN);
		if (slot < 0)
			continue;
		*ret_what = bucket->blocks[slot];
		__atomic_store_n(&bucket->addresses[slot], SLOT_FREE, __ATOMIC_RELEASE);
		unmark(set, block);
		return true;
	}
	return false;
}
