/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heaps that are made up word by word: versions of glibc that are not installed, and what must not
 * be taken for blocks.
 */
#include "target/glibc/glibc_heap.h"
#include "target/glibc/glibc_layout.h"
#include "target/memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATA 0x7f0000000000ULL
#define HEAP 0x555500000000ULL
#define MAPPED 0x7e0000000000ULL
#define ARENA_HEAP 0x7d0000000000ULL /* aligned as heaps of arenas are */
#define TLS 0x7c0000000000ULL
#define REGION_BYTES (64U << 10)
#define ARENA (DATA + 0x400)
#define PAR (DATA + 0x200)
#define THREAD (TLS + REGION_BYTES - 64)

enum { IN_DATA, IN_HEAP, IN_MAPPED, IN_ARENA_HEAP, IN_TLS, REGIONS };

struct image {
	struct memory_map maps[REGIONS];
	uint64_t words[REGIONS][REGION_BYTES / 8];
	uint64_t end; /* where the next chunk goes */
	uint64_t flags;
	size_t n_reads, most_reads; /* then nothing can be read; 0: no limit */
	struct glibc_heap *heap;
};

static const struct {
	uint64_t start;
	enum memory_kind kind;
} regions[REGIONS] = {
	[IN_DATA] = { DATA, MEMORY_FILE },
	[IN_HEAP] = { HEAP, MEMORY_HEAP },
	[IN_MAPPED] = { MAPPED, MEMORY_ANONYMOUS },
	[IN_TLS] = { TLS, MEMORY_ANONYMOUS },
	[IN_ARENA_HEAP] = { ARENA_HEAP, MEMORY_ANONYMOUS },
};

static uint64_t *at(struct image *image, uint64_t addr)
{
	for (size_t i = 0; i < REGIONS; i++)
		if (addr >= regions[i].start && addr < regions[i].start + REGION_BYTES)
			return &image->words[i][(addr - regions[i].start) / 8];
	fail_msg("no such address");
	return NULL;
}

static ssize_t read_image(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct image *image = ctx;

	if (++image->n_reads > image->most_reads && image->most_reads > 0)
		return -ESRCH;
	for (size_t i = 0; i < REGIONS; i++) {
		uint64_t end = regions[i].start + REGION_BYTES;

		if (addr < regions[i].start || addr >= end)
			continue;
		if (len > end - addr)
			len = end - addr;
		memcpy(buf, (char *)image->words[i] + (addr - regions[i].start), len);
		return (ssize_t)len;
	}
	return -EFAULT;
}

static void put_arena(struct image *image, uint64_t addr, uint64_t next, uint64_t top,
		      uint64_t bytes)
{
	uint64_t *words = at(image, addr);

	for (size_t i = 0; i < 2 * GLIBC_BINS; i++)
		words[GLIBC_ARENA_BINS + i] =
			addr + (GLIBC_ARENA_BINS + i / 2 * 2) * 8 - GLIBC_HEAD;
	words[GLIBC_ARENA_NEXT] = next;
	words[GLIBC_ARENA_TOP] = top;
	words[GLIBC_ARENA_SYSTEM_MEM] = bytes;
}

/* As since glibc 2.43, without words for fastbins. */
static void put_arena_2_43(struct image *image, uint64_t addr, uint64_t next, uint64_t top,
			   uint64_t bytes)
{
	uint64_t *words = at(image, addr);

	for (size_t i = 0; i < 2 * GLIBC_BINS; i++) {
		size_t bins = GLIBC_ARENA_BINS - GLIBC_ARENA_GONE;

		words[bins + i] = addr + (bins + i / 2 * 2) * 8 - GLIBC_HEAD;
	}
	words[GLIBC_ARENA_NEXT - GLIBC_ARENA_GONE] = next;
	words[GLIBC_ARENA_TOP - GLIBC_ARENA_GONE] = top;
	words[GLIBC_ARENA_SYSTEM_MEM - GLIBC_ARENA_GONE] = bytes;
}

static uint64_t add_chunk(struct image *image, uint64_t size, bool before_in_use)
{
	uint64_t chunk = image->end;

	at(image, chunk)[1] = size | image->flags | (before_in_use ? GLIBC_PREV_INUSE : 0);
	image->end += size;
	return chunk + GLIBC_HEAD;
}

/* As before glibc 2.42. */
struct cache {
	uint16_t counts[GLIBC_TCACHE_BINS];
	uint64_t entries[GLIBC_TCACHE_BINS];
};
#define CACHE_CHUNK (sizeof(struct cache) + GLIBC_HEAD)

/* A main arena without blocks; its cache in the first chunk. */
static struct cache *begin(struct image *image)
{
	const uint64_t par[] = { 0, 0, HEAP, GLIBC_TCACHE_BINS, 1032, 7, 0 };
	uint64_t cache;

	memset(image, 0, sizeof(*image));
	memcpy(at(image, PAR), par, sizeof(par));
	image->end = HEAP;
	cache = add_chunk(image, CACHE_CHUNK, true);
	at(image, THREAD)[-7] = cache;
	at(image, THREAD)[-5] = ARENA;
	return (struct cache *)at(image, cache);
}

static void put_top(struct image *image)
{
	put_arena(image, ARENA, ARENA, image->end, REGION_BYTES);
	at(image, image->end)[1] = (HEAP + REGION_BYTES - image->end) | GLIBC_PREV_INUSE;
}

static void read_it(struct image *image)
{
	const uint64_t thread = THREAD;
	struct glibc_source source = { .read = read_image,
				       .ctx = image,
				       .maps = image->maps,
				       .n_maps = REGIONS,
				       .threads = &thread,
				       .n_threads = 1 };
	static const int order[REGIONS] = { IN_HEAP, IN_TLS, IN_ARENA_HEAP, IN_MAPPED, IN_DATA };

	for (size_t i = 0; i < REGIONS; i++)
		image->maps[i] = (struct memory_map){ .start = regions[order[i]].start,
						      .end = regions[order[i]].start + REGION_BYTES,
						      .kind = regions[order[i]].kind,
						      .path = "" };
	assert_int_equal(glibc_heap_new(&source, &image->heap), 0);
}

static void assert_blocks(const struct image *image, const uint64_t *addrs, size_t n)
{
	assert_int_equal(image->heap->n_blocks, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(image->heap->blocks[i].addr, addrs[i]);
}

static void link_blocks(struct image *image, uint64_t from, uint64_t to, bool mangled)
{
	*at(image, from) = mangled ? from >> 12 ^ to : to;
}

/* glibc 2.31 has plain links, 2.32 mixes them with their places. */
static void lists_of_all_versions_are_free_blocks(void **state)
{
	struct image *image = *state;

	for (int mangled = 0; mangled < 2; mangled++) {
		struct cache *cache = begin(image);
		uint64_t blocks[6];

		for (size_t i = 0; i < 6; i++)
			blocks[i] = add_chunk(image, 0x40, true);
		put_top(image);
		cache->counts[2] = 2;
		cache->entries[2] = blocks[1];
		link_blocks(image, blocks[1], blocks[4], mangled);
		link_blocks(image, blocks[4], 0, mangled);
		/* A fastbin links chunks. */
		at(image, ARENA)[GLIBC_ARENA_FASTBINS + 2] = blocks[3] - GLIBC_HEAD;
		link_blocks(image, blocks[3], blocks[2] - GLIBC_HEAD, mangled);
		link_blocks(image, blocks[2], 0, mangled);
		read_it(image);
		assert_true(glibc_heap_is_sound(image->heap));
		assert_blocks(image, (uint64_t[]){ blocks[0], blocks[5] }, 2);
		assert_int_equal(image->heap->blocks[0].size, 0x38);
		assert_int_equal(image->heap->cached_bytes, CACHE_CHUNK + 2 * 0x40);
		glibc_heap_free(image->heap);
	}
}

/* Two arenas: with the second one, what stands before the first may pass for its fastbins. */
static void the_heap_of_glibc_2_43_is_read(void **state)
{
	const uint64_t par[] = { GLIBC_PAGE, GLIBC_PAGE, HEAP, GLIBC_TCACHE_BINS, 1041, 16, 0 };
	const uint64_t heap[] = { ARENA_HEAP + 0x30, 0, GLIBC_PAGE, GLIBC_PAGE };
	const size_t arena_bytes = (GLIBC_ARENA_WORDS - GLIBC_ARENA_GONE) * 8;
	uint64_t top = ARENA_HEAP + 0x30 + arena_bytes, cache, blocks[3];
	struct image *image = *state;
	uint16_t *room;

	memset(image, 0, sizeof(*image));
	memcpy(at(image, PAR), par, sizeof(par));
	image->end = HEAP;
	/* What is left of a chunk that was divided stays with it. */
	cache = add_chunk(image, GLIBC_TCACHE_ROOM(GLIBC_TCACHE_BINS_MOST) + 8 + GLIBC_ALIGN, true);
	for (size_t i = 0; i < 3; i++)
		blocks[i] = add_chunk(image, 0x40, true);
	room = (uint16_t *)at(image, cache);
	for (size_t i = 0; i < GLIBC_TCACHE_BINS_MOST; i++)
		room[i] = i == 2 ? 15 : 16;
	at(image, cache + GLIBC_TCACHE_BINS_MOST * sizeof(*room))[2] = blocks[1];
	link_blocks(image, blocks[1], 0, true);
	at(image, THREAD)[-7] = cache;
	at(image, THREAD)[-5] = ARENA;
	put_arena_2_43(image, ARENA, heap[0], image->end, REGION_BYTES);
	at(image, image->end)[1] = (HEAP + REGION_BYTES - image->end) | GLIBC_PREV_INUSE;
	memcpy(at(image, ARENA_HEAP), heap, sizeof(heap));
	put_arena_2_43(image, heap[0], ARENA, top, GLIBC_PAGE);
	at(image, top)[1] = (ARENA_HEAP + GLIBC_PAGE - top) | GLIBC_PREV_INUSE;
	at(image, MAPPED)[1] = (GLIBC_PAGE - GLIBC_HEAD) | GLIBC_IS_MMAPPED;
	read_it(image);
	assert_int_equal(image->heap->n_arenas, 2);
	assert_true(glibc_heap_is_sound(image->heap));
	assert_blocks(image, (uint64_t[]){ blocks[0], blocks[2], MAPPED + GLIBC_HEAD }, 3);
	assert_int_equal(image->heap->blocks[2].size, GLIBC_PAGE - GLIBC_HEAD - 8);
	glibc_heap_free(image->heap);
}

/* A thread was stopped between two steps of putting a block into its cache. */
static void a_list_with_one_more_than_its_count_is_said(void **state)
{
	struct image *image = *state;
	struct cache *cache = begin(image);
	uint64_t block = add_chunk(image, 0x40, true), other = add_chunk(image, 0x50, true);

	put_top(image);
	cache->entries[2] = block;
	cache->counts[3] = 1;
	cache->entries[3] = other;
	link_blocks(image, block, 0, true);
	link_blocks(image, other, 0, true);
	read_it(image);
	assert_int_equal(image->heap->broken_lists, 1);
	assert_false(glibc_heap_is_sound(image->heap));
	assert_blocks(image, NULL, 0);
	glibc_heap_free(image->heap);
}

/* What a chunk with an impossible size is followed by, nobody knows. */
static void blocks_behind_a_damaged_chunk_are_not_guessed(void **state)
{
	static const uint64_t bad[] = { 0, 0x18, 0x1000000, 0x40 | GLIBC_IS_MMAPPED };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct image *image = *state;
		uint64_t first, damaged;

		(void)begin(image);
		first = add_chunk(image, 0x40, true);
		/* Whether this one is free, the damaged head should say. */
		(void)add_chunk(image, 0x40, true);
		damaged = add_chunk(image, 0x40, true);
		(void)add_chunk(image, 0x40, true);
		put_top(image);
		at(image, damaged)[-1] = bad[i] | GLIBC_PREV_INUSE;
		read_it(image);
		assert_blocks(image, (uint64_t[]){ first }, 1);
		assert_int_equal(image->heap->unread_bytes, 3 * 0x40);
		glibc_heap_free(image->heap);
	}
}

/* Another caller of sbrk: malloc fences its old top off and goes on behind. */
static void memory_behind_a_fence_in_the_heap_is_unread(void **state)
{
	struct image *image = *state;
	uint64_t first, fence;

	(void)begin(image);
	first = add_chunk(image, 0x40, true);
	fence = image->end;
	(void)add_chunk(image, 0x10, true);
	(void)add_chunk(image, 0x10, true);
	image->end += 0x1000;
	(void)add_chunk(image, 0x40, true);
	put_top(image);
	read_it(image);
	assert_blocks(image, (uint64_t[]){ first }, 1);
	assert_int_equal(image->heap->unread_bytes, image->end - fence);
	glibc_heap_free(image->heap);
}

/* Sizes of struct heap_info: 32 bytes until 2.34, 48 since. */
static void arenas_of_all_versions_are_walked(void **state)
{
	static const uint64_t offsets[] = { 0x20, 0x30 };

	for (size_t i = 0; i < 2; i++) {
		struct image *image = *state;
		const uint64_t arena = ARENA_HEAP + offsets[i];
		const uint64_t info[] = { arena, 0, REGION_BYTES, REGION_BYTES };
		uint64_t block;

		(void)begin(image);
		put_top(image);
		at(image, ARENA)[GLIBC_ARENA_NEXT] = arena;
		memcpy(at(image, ARENA_HEAP), info, sizeof(info));
		image->flags = GLIBC_NON_MAIN_ARENA;
		image->end = (arena + GLIBC_ARENA_WORDS * 8 + 15) & ~15ULL;
		block = add_chunk(image, 0x1230, true);
		put_arena(image, arena, ARENA, image->end, REGION_BYTES);
		at(image, image->end)[1] = 0x1000 | GLIBC_PREV_INUSE;
		read_it(image);
		assert_true(glibc_heap_is_sound(image->heap));
		assert_int_equal(image->heap->n_arenas, 2);
		assert_blocks(image, (uint64_t[]){ block }, 1);
		/* The same with a lock that is held. */
		*at(image, arena) = 1;
		glibc_heap_free(image->heap);
		read_it(image);
		assert_int_equal(image->heap->locked_arenas, 1);
		glibc_heap_free(image->heap);
	}
}

/* The program's own pages may look like a mapped chunk. */
static void mapped_blocks_count_only_when_their_sum_is_right(void **state)
{
	static const struct {
		uint64_t sum;
		size_t blocks;
	} rows[] = { { 0x5000, 2 }, { 0x3000, 0 }, { 0x9000, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct image *image = *state;

		(void)begin(image);
		put_top(image);
		at(image, PAR)[0] = rows[i].sum;
		at(image, PAR)[1] = 0x20000;
		at(image, MAPPED)[1] = 0x2000 | GLIBC_IS_MMAPPED;
		/* Two pages of something else, then a block that memalign has moved up. */
		at(image, MAPPED + 0x4000)[1] = 0x3000 | GLIBC_IS_MMAPPED;
		at(image, MAPPED + 0x4ff0)[0] = 0xff0;
		at(image, MAPPED + 0x4ff0)[1] = 0x2010 | GLIBC_IS_MMAPPED;
		read_it(image);
		assert_int_equal(image->heap->n_blocks, rows[i].blocks);
		assert_int_equal(image->heap->unread_bytes, rows[i].blocks ? 0 : rows[i].sum);
		if (rows[i].blocks) {
			assert_blocks(image, (uint64_t[]){ MAPPED + 0x10, MAPPED + 0x5000 }, 2);
			assert_int_equal(image->heap->blocks[0].size, 0x1ff0);
			assert_int_equal(image->heap->blocks[1].size, 0x2000);
		}
		glibc_heap_free(image->heap);
	}
}

/* Versions that keep free blocks in another way: nothing says that these are none. */
static void a_thread_without_a_cache_that_is_understood_is_said(void **state)
{
	struct image *image = *state;

	(void)begin(image);
	put_top(image);
	at(image, THREAD)[-7] = 0;
	read_it(image);
	assert_int_equal(image->heap->unknown_caches, 1);
	glibc_heap_free(image->heap);
	/* Unless it has none by the tunable. */
	at(image, PAR)[5] = 0;
	read_it(image);
	assert_int_equal(image->heap->unknown_caches, 0);
	glibc_heap_free(image->heap);
}

/* Killed while it is read: lists were whole when they were measured. */
static void a_process_that_ends_meanwhile_is_not_sound(void **state)
{
	struct image *image = *state;
	struct cache *cache = begin(image);
	uint64_t blocks[6];
	size_t n_reads;

	for (size_t i = 0; i < 6; i++)
		blocks[i] = add_chunk(image, i % 2 ? 0x40 : 0x1800, true);
	put_top(image);
	/* Against the order of addresses, and farther apart than what is read ahead. */
	cache->counts[2] = 2;
	cache->entries[2] = blocks[5];
	link_blocks(image, blocks[5], blocks[1], true);
	link_blocks(image, blocks[1], 0, true);
	at(image, ARENA)[GLIBC_ARENA_FASTBINS + 2] = blocks[3] - GLIBC_HEAD;
	link_blocks(image, blocks[3], 0, true);
	read_it(image);
	assert_true(glibc_heap_is_sound(image->heap));
	glibc_heap_free(image->heap);
	n_reads = image->n_reads;
	/* The first ones find the arena: without it there is no glibc. */
	for (image->most_reads = 2; image->most_reads < n_reads; image->most_reads++) {
		image->n_reads = 0;
		read_it(image);
		assert_false(glibc_heap_is_sound(image->heap));
		glibc_heap_free(image->heap);
	}
}

/* A second heap of an arena that names itself as the one before it. */
static void heaps_in_a_circle_are_unread(void **state)
{
	struct image *image = *state;
	const uint64_t arena = ARENA_HEAP + 0x30, bytes = 1ULL << 40;
	const uint64_t first[] = { arena, 0, REGION_BYTES, REGION_BYTES };
	const uint64_t second[] = { arena, MAPPED, GLIBC_PAGE, GLIBC_PAGE };

	(void)begin(image);
	put_top(image);
	at(image, ARENA)[GLIBC_ARENA_NEXT] = arena;
	memcpy(at(image, ARENA_HEAP), first, sizeof(first));
	memcpy(at(image, MAPPED), second, sizeof(second));
	put_arena(image, arena, ARENA, MAPPED + 0x800, bytes);
	read_it(image);
	assert_false(glibc_heap_is_sound(image->heap));
	assert_in_range(image->heap->unread_bytes, bytes - REGIONS * GLIBC_PAGE, bytes);
	glibc_heap_free(image->heap);
}

/* Two arenas that name each other, and not the main one. */
static void arenas_in_a_circle_of_their_own_are_said(void **state)
{
	struct image *image = *state;
	const uint64_t arenas[] = { ARENA_HEAP + 0x30, MAPPED + 0x30 };
	static const uint64_t heaps[] = { ARENA_HEAP, MAPPED };

	(void)begin(image);
	put_top(image);
	at(image, ARENA)[GLIBC_ARENA_NEXT] = arenas[0];
	image->flags = GLIBC_NON_MAIN_ARENA;
	for (size_t i = 0; i < 2; i++) {
		const uint64_t info[] = { arenas[i], 0, REGION_BYTES, REGION_BYTES };

		memcpy(at(image, heaps[i]), info, sizeof(info));
		image->end = (arenas[i] + GLIBC_ARENA_WORDS * 8 + 15) & ~15ULL;
		(void)add_chunk(image, 0x1230, true);
		put_arena(image, arenas[i], arenas[1 - i], image->end, REGION_BYTES);
		at(image, image->end)[1] = 0x1000 | GLIBC_PREV_INUSE;
	}
	read_it(image);
	assert_false(glibc_heap_is_sound(image->heap));
	assert_in_range(image->heap->n_arenas, 3, REGIONS + 1);
	assert_int_equal(image->heap->n_blocks, 2);
	glibc_heap_free(image->heap);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct image));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_all_versions_are_free_blocks),
		cmocka_unit_test(the_heap_of_glibc_2_43_is_read),
		cmocka_unit_test(a_list_with_one_more_than_its_count_is_said),
		cmocka_unit_test(blocks_behind_a_damaged_chunk_are_not_guessed),
		cmocka_unit_test(memory_behind_a_fence_in_the_heap_is_unread),
		cmocka_unit_test(arenas_of_all_versions_are_walked),
		cmocka_unit_test(mapped_blocks_count_only_when_their_sum_is_right),
		cmocka_unit_test(a_thread_without_a_cache_that_is_understood_is_said),
		cmocka_unit_test(a_process_that_ends_meanwhile_is_not_sound),
		cmocka_unit_test(heaps_in_a_circle_are_unread),
		cmocka_unit_test(arenas_in_a_circle_of_their_own_are_said),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
