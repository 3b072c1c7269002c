/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage: families[-VARIANT] [CALLS]
 *
 * Calls every function of one allocator in a random order, and counts it into $SELF_COUNTS. Which
 * allocator is said by a macro (JEMALLOC, TCMALLOC, MIMALLOC, MUSL; else any with the C library's
 * functions), PREFIX before the names, and what the program is linked with.
 */
#include "tests/targets/ledger.h"
#include "tests/targets/target.h"

#ifndef PREFIX
#define PREFIX
#endif
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define F(name) PASTE(PREFIX, name)

#define N_SLOTS 256
#define MOST 9000 /* bytes: strings of up to three spans of string_bytes() */

typedef void *alloc_fn(size_t size);
typedef void *realloc_fn(void *block, size_t size);
typedef void free_fn(void *block, size_t size);

extern void *F(malloc)(size_t);
extern void *F(calloc)(size_t, size_t);
extern void *F(realloc)(void *, size_t);
extern void F(free)(void *);
extern int F(posix_memalign)(void **, size_t, size_t);
extern void *F(memalign)(size_t, size_t);

static void *by_calloc(size_t size)
{
	return size % 4 ? F(calloc)(size, 1) : F(calloc)(size / 4, 4);
}

static void *by_posix_memalign(size_t size)
{
	void *block = NULL;

	return F(posix_memalign)(&block, 256, size) ? NULL : block;
}

static void *by_memalign(size_t size)
{
	return F(memalign)(64, size);
}

static void by_free(void *block, size_t size)
{
	(void)size;
	F(free)(block);
}

#ifndef TCMALLOC /* tc_aligned_alloc is not exported by gperftools 2.10 */
extern void *F(aligned_alloc)(size_t, size_t);

static void *by_aligned_alloc(size_t size)
{
	return F(aligned_alloc)(128, size);
}
#endif

#ifdef JEMALLOC
#define EXTRA_ALIGN_64 6 /* MALLOCX_LG_ALIGN(6) */
#define EXTRA_ZERO 0x40	 /* MALLOCX_ZERO */
extern void *F(mallocx)(size_t, int);
extern void *F(rallocx)(void *, size_t, int);
extern size_t F(xallocx)(void *, size_t, size_t, int);
extern void F(dallocx)(void *, int);
extern void F(sdallocx)(void *, size_t, int);

static void *by_mallocx(size_t size)
{
	return F(mallocx)(size ? size : 1, 0);
}

static void *by_mallocx_aligned(size_t size)
{
	return F(mallocx)(size, EXTRA_ALIGN_64 | EXTRA_ZERO);
}

static void *by_rallocx(void *block, size_t size)
{
	return F(rallocx)(block, size, size & 1 ? EXTRA_ALIGN_64 : EXTRA_ZERO);
}

static void by_dallocx(void *block, size_t size)
{
	(void)size;
	F(dallocx)(block, 0);
}

static void by_sdallocx(void *block, size_t size)
{
	F(sdallocx)(block, size, 0);
}
#endif

#ifdef TCMALLOC
extern void *tc_new(size_t);
extern void *tc_newarray(size_t);
extern void *tc_new_nothrow(size_t, const void *);
extern void *tc_newarray_nothrow(size_t, const void *);
extern void *tc_new_aligned(size_t, size_t);
extern void *tc_newarray_aligned(size_t, size_t);
extern void *tc_malloc_skip_new_handler(size_t);
extern void *tc_valloc(size_t);
extern void *tc_pvalloc(size_t);
extern void tc_cfree(void *);
extern void tc_free_sized(void *, size_t);
extern void tc_delete(void *);
extern void tc_delete_sized(void *, size_t);
extern void tc_deletearray_sized(void *, size_t);

static void *by_new_nothrow(size_t size)
{
	return size & 1 ? tc_new_nothrow(size, "") : tc_newarray_nothrow(size, "");
}

static void *by_new_aligned(size_t size)
{
	return size & 1 ? tc_new_aligned(size, 64) : tc_newarray_aligned(size, 64);
}

static void by_cfree(void *block, size_t size)
{
	(void)size;
	tc_cfree(block);
}

static void by_delete(void *block, size_t size)
{
	(void)size;
	tc_delete(block);
}
#endif

#ifdef MIMALLOC
#include <mimalloc.h>
#define ALLOC_BY(name, ...)                                                                        \
	static void *by_##name(size_t size)                                                        \
	{                                                                                          \
		return mi_##name(__VA_ARGS__);                                                     \
	}
#define REALLOC_BY(name, ...)                                                                      \
	static void *by_##name(void *block, size_t size)                                           \
	{                                                                                          \
		return mi_##name(__VA_ARGS__);                                                     \
	}
#define FREE_BY(name, ...)                                                                         \
	static void by_##name(void *block, size_t size)                                            \
	{                                                                                          \
		(void)size;                                                                        \
		mi_##name(__VA_ARGS__);                                                            \
	}
#if MI_MALLOC_VERSION >= 30000
#define HEAP mi_heap_main()
#else
#define HEAP mi_heap_get_default()
#endif

ALLOC_BY(mallocn, size, 1)
ALLOC_BY(malloc_aligned, size, 64)
ALLOC_BY(malloc_aligned_at, size, 64, 8)
ALLOC_BY(zalloc_aligned, size, 64)
ALLOC_BY(zalloc_aligned_at, size, 64, 16)
ALLOC_BY(calloc_aligned, 1, size, 64)
ALLOC_BY(calloc_aligned_at, size, 1, 64, 16)
ALLOC_BY(heap_malloc, HEAP, size)
ALLOC_BY(heap_zalloc, HEAP, size)
ALLOC_BY(heap_calloc, HEAP, size, 1)
ALLOC_BY(heap_mallocn, HEAP, 1, size)
ALLOC_BY(heap_malloc_aligned, HEAP, size, 64)
ALLOC_BY(heap_malloc_aligned_at, HEAP, size, 64, 16)
ALLOC_BY(heap_zalloc_aligned, HEAP, size, 64)
ALLOC_BY(heap_zalloc_aligned_at, HEAP, size, 64, 16)
ALLOC_BY(heap_calloc_aligned, HEAP, size, 1, 64)
ALLOC_BY(heap_calloc_aligned_at, HEAP, 1, size, 64, 16)
ALLOC_BY(new_aligned_nothrow, size, 64)
ALLOC_BY(new_aligned, size, 64)
ALLOC_BY(new_n, 1, size)
REALLOC_BY(reallocn, block, size, 1)
REALLOC_BY(recalloc, block, 1, size)
REALLOC_BY(reallocarray, block, size, 1)
REALLOC_BY(realloc_aligned, block, size, 64)
REALLOC_BY(realloc_aligned_at, block, size, 64, 16)
REALLOC_BY(rezalloc_aligned, block, size, 64)
REALLOC_BY(rezalloc_aligned_at, block, size, 64, 16)
REALLOC_BY(recalloc_aligned, block, size, 1, 64)
REALLOC_BY(recalloc_aligned_at, block, 1, size, 64, 16)
REALLOC_BY(heap_realloc, HEAP, block, size)
REALLOC_BY(heap_reallocn, HEAP, block, 1, size)
REALLOC_BY(heap_rezalloc, HEAP, block, size)
REALLOC_BY(heap_recalloc, HEAP, block, size, 1)
REALLOC_BY(heap_realloc_aligned, HEAP, block, size, 64)
REALLOC_BY(heap_realloc_aligned_at, HEAP, block, size, 64, 16)
REALLOC_BY(heap_rezalloc_aligned, HEAP, block, size, 64)
REALLOC_BY(heap_recalloc_aligned, HEAP, block, size, 1, 64)
REALLOC_BY(new_reallocn, block, 1, size)
REALLOC_BY(aligned_recalloc, block, 1, size, 64)
REALLOC_BY(aligned_offset_recalloc, block, size, 1, 64, 16)
FREE_BY(cfree, block)
FREE_BY(free_aligned, block, 1)
FREE_BY(free_size_aligned, block, size, 1)

/* For sizes up to MI_SMALL_SIZE_MAX only; larger ones take the function without _small. */
#define SMALL_BY(name, plain, ...)                                                                 \
	static void *by_##name(size_t size)                                                        \
	{                                                                                          \
		return size <= MI_SMALL_SIZE_MAX ? mi_##name(__VA_ARGS__) : mi_##plain(size);      \
	}

SMALL_BY(malloc_small, malloc, size)
SMALL_BY(zalloc_small, zalloc, size)
#if MI_MALLOC_VERSION >= 30600
#define THEAP mi_theap_get_default()
#define HAS_THEAPS
ALLOC_BY(umalloc, size, NULL)
ALLOC_BY(ucalloc, 1, size, NULL)
ALLOC_BY(umalloc_aligned, size, 64, NULL)
ALLOC_BY(uzalloc_aligned, size, 64, NULL)
SMALL_BY(umalloc_small, malloc, size, NULL)
SMALL_BY(uzalloc_small, malloc, size, NULL)
SMALL_BY(theap_malloc_small, malloc, THEAP, size)
SMALL_BY(theap_zalloc_small, malloc, THEAP, size)
ALLOC_BY(theap_malloc, THEAP, size)
ALLOC_BY(theap_zalloc, THEAP, size)
ALLOC_BY(theap_calloc, THEAP, 1, size)
ALLOC_BY(theap_malloc_aligned, THEAP, size, 64)
ALLOC_BY(theap_zalloc_aligned, THEAP, size, 64)
ALLOC_BY(theap_alloc_new, THEAP, size)
ALLOC_BY(theap_alloc_new_n, THEAP, size, 1)
ALLOC_BY(theap_alloc_new_nothrow, THEAP, size)
REALLOC_BY(urealloc, block, size, NULL, NULL)
REALLOC_BY(theap_realloc, THEAP, block, size)
REALLOC_BY(theap_rezalloc, THEAP, block, size)
FREE_BY(ufree, block, NULL)

/* Of blocks that mi_malloc makes in the same way as mi_malloc_small. */
static void by_free_small(void *block, size_t size)
{
	if (size > MI_SMALL_SIZE_MAX)
		mi_free(block);
	else if (size & 1)
		mi_free_small(block);
	else
		mi_free_small_nonnull(block);
}
#endif

static char letters[MOST + 1];

static void *by_strdup(size_t size)
{
	return mi_strdup(letters + MOST - (size - 1));
}

static void *by_strndup(size_t size)
{
	return mi_strndup(letters, size - 1);
}

static void *by_heap_strdup(size_t size)
{
	return mi_heap_strdup(HEAP, letters + MOST - (size - 1));
}
#endif

static alloc_fn *const allocs[] = {
	F(malloc),
	by_calloc,
	by_posix_memalign,
	by_memalign,
#ifndef TCMALLOC
	by_aligned_alloc,
#endif
#ifdef JEMALLOC
	by_mallocx,
	by_mallocx_aligned,
#endif
#ifdef TCMALLOC
	tc_new,
	tc_newarray,
	by_new_nothrow,
	by_new_aligned,
	tc_malloc_skip_new_handler,
	tc_valloc,
	tc_pvalloc,
#endif
#ifdef MIMALLOC
	mi_zalloc,
	mi_valloc,
	mi_pvalloc,
	mi_new,
	mi_new_nothrow,
	by_mallocn,
	by_malloc_aligned,
	by_malloc_aligned_at,
	by_zalloc_aligned,
	by_zalloc_aligned_at,
	by_calloc_aligned,
	by_calloc_aligned_at,
	by_heap_malloc,
	by_heap_zalloc,
	by_heap_calloc,
	by_heap_mallocn,
	by_heap_malloc_aligned,
	by_heap_malloc_aligned_at,
	by_heap_zalloc_aligned,
	by_heap_zalloc_aligned_at,
	by_heap_calloc_aligned,
	by_heap_calloc_aligned_at,
	by_new_aligned_nothrow,
	by_new_aligned,
	by_new_n,
	by_strdup,
	by_strndup,
	by_heap_strdup,
	by_malloc_small,
	by_zalloc_small,
#endif
#ifdef HAS_THEAPS
	by_umalloc,
	by_ucalloc,
	by_umalloc_aligned,
	by_uzalloc_aligned,
	by_umalloc_small,
	by_uzalloc_small,
	by_theap_malloc,
	by_theap_zalloc,
	by_theap_calloc,
	by_theap_malloc_aligned,
	by_theap_zalloc_aligned,
	by_theap_malloc_small,
	by_theap_zalloc_small,
	by_theap_alloc_new,
	by_theap_alloc_new_n,
	by_theap_alloc_new_nothrow,
#endif
};

static realloc_fn *const reallocs[] = {
	F(realloc),
#ifdef JEMALLOC
	by_rallocx,
#endif
#ifdef MIMALLOC
	mi_rezalloc,
	mi_reallocf,
	mi_expand,
	mi_new_realloc,
	by_reallocn,
	by_recalloc,
	by_reallocarray,
	by_realloc_aligned,
	by_realloc_aligned_at,
	by_rezalloc_aligned,
	by_rezalloc_aligned_at,
	by_recalloc_aligned,
	by_recalloc_aligned_at,
	by_heap_realloc,
	by_heap_reallocn,
	by_heap_rezalloc,
	by_heap_recalloc,
	by_heap_realloc_aligned,
	by_heap_realloc_aligned_at,
	by_heap_rezalloc_aligned,
	by_heap_recalloc_aligned,
	by_new_reallocn,
	mi__expand,
	by_aligned_recalloc,
	by_aligned_offset_recalloc,
#endif
#ifdef HAS_THEAPS
	by_urealloc,
	by_theap_realloc,
	by_theap_rezalloc,
#endif
};

static free_fn *const frees[] = {
	by_free,
#ifdef JEMALLOC
	by_dallocx, by_sdallocx,
#endif
#ifdef TCMALLOC
	by_cfree,   by_delete,	     tc_delete_sized,	   tc_deletearray_sized, tc_free_sized,
#endif
#ifdef MIMALLOC
	by_cfree,   by_free_aligned, by_free_size_aligned, mi_free_size,
#endif
#ifdef HAS_THEAPS
	by_ufree,   by_free_small,
#endif
};

static struct {
	void *block;
	size_t size;
	bool is_aligned; /* of an alignment that a sized free would have to be told */
} slots[N_SLOTS];

#define PICK(table, random) table[(random) % (sizeof(table) / sizeof(table[0]))]

static void fill(size_t at, uint64_t random)
{
	alloc_fn *alloc = PICK(allocs, random >> 32);
	size_t size = 1 + random % MOST;

	slots[at].block = ledger_alloc(alloc(size), size);
	CHECK(slots[at].block);
	slots[at].size = size;
	slots[at].is_aligned = alloc != F(malloc) && alloc != by_calloc;
	memset(slots[at].block, 1, size);
}

static void resize(size_t at, uint64_t random)
{
	size_t size = 1 + random % MOST;
	void *moved = ledger_realloc(PICK(reallocs, random >> 32), slots[at].block, size);

	if (!moved)
		return; /* mi_expand, where there is no room */
	slots[at].block = moved;
	slots[at].size = size;
	slots[at].is_aligned = true;
	memset(moved, 2, size);
}

static void empty(size_t at, uint64_t random)
{
	free_fn *release = slots[at].is_aligned ? by_free : PICK(frees, random >> 32);

	ledger_free(slots[at].block);
	release(slots[at].block, slots[at].size);
	slots[at].block = NULL;
}

#ifdef JEMALLOC
/* A block that was replaced by one of the same address, or that stays. */
static void ledger_replace(void *block, bool done, size_t size)
{
	uint64_t old = 0;
	bool known = ledger_remove((uintptr_t)block, &old);

	CHECK(known);
	if (!done) {
		ledger_insert((uintptr_t)block, old);
		ledger_add(&ledger.totals->failed, 1);
		return;
	}
	ledger_gone(known, old, ledger_last == (uintptr_t)block);
	ledger_alloc(block, size);
}

/* What xallocx was asked for counts as far as it is there. */
static void in_place(size_t at, uint64_t random)
{
	size_t size = 1 + random % MOST, extra = random >> 32 & 1 ? random >> 40 & 0xfff : 0;
	size_t real = F(xallocx)(slots[at].block, size, extra, 0);
	size_t got = real - size < extra ? real : size + extra;

	ledger_replace(slots[at].block, real >= size, got);
	if (real >= size) {
		slots[at].size = got;
		slots[at].is_aligned = true;
	}
}
#else
static void in_place(size_t at, uint64_t random)
{
	resize(at, random);
}
#endif

/* Each allocator has its own rule for size 0, which its result tells. */
static void zeros(void)
{
	void *block = ledger_alloc(F(malloc)(100), 100);

	CHECK(block);
	block = ledger_realloc(F(realloc), block, opaque(0));
	ledger_free(block);
	F(free)(block);
	block = ledger_realloc(F(realloc), NULL, 10);
	CHECK(block);
	ledger_free(block);
	F(free)(block);
}

static void failures(void)
{
	void *block = ledger_alloc(F(malloc)(10), 10);

	CHECK(block);
	CHECK(!ledger_alloc(F(malloc)(IMPOSSIBLE), IMPOSSIBLE));
	CHECK(!ledger_alloc(F(calloc)(IMPOSSIBLE, 16), 0));
	CHECK(!ledger_alloc(by_posix_memalign(IMPOSSIBLE), IMPOSSIBLE));
	CHECK(!ledger_realloc(F(realloc), block, IMPOSSIBLE));
#ifdef JEMALLOC
	CHECK(!ledger_alloc(F(mallocx)(IMPOSSIBLE, 0), IMPOSSIBLE));
	CHECK(!ledger_realloc(by_rallocx, block, IMPOSSIBLE));
#endif
	ledger_free(block);
#ifdef MIMALLOC
	ledger_add(&ledger.totals->failed, 1);
	CHECK(!mi_reallocf(block, IMPOSSIBLE)); /* frees it all the same */
#else
	F(free)(block);
#endif
}

int main(int argc, char **argv)
{
	uint64_t calls = argument(argc, argv, 1, 2000), seed = 7, i;

#ifdef MIMALLOC
	memset(letters, 'x', MOST);
#endif
	CHECK(ledger_open("SELF_COUNTS"));
	for (i = 0; i < calls; i++) {
		uint64_t random = next_random(&seed);
		size_t at = random >> 16 & (N_SLOTS - 1);

		if (!slots[at].block)
			fill(at, random);
		else if (random >> 24 & 1)
			empty(at, random);
		else if (random >> 25 & 1)
			resize(at, random);
		else
			in_place(at, random);
	}
	zeros();
	failures();
	tell("done %llu\n", (unsigned long long)calls);
	return 0;
}
