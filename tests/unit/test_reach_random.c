/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small heaps of random blocks and pointers, classified by analyze/reach.h and, from what its
 * header says, by the plainest means there are: every word against every block, and the transitive
 * closure of who leads to whom.
 */
#include "base/cleanup.h"
#include "tests/unit/heap_fixture.h"
#include "tests/unit/random_numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HEAPS 4000
#define MAX_BLOCKS 24

#define HEAP 0x10000000ULL
#define HEAP_SIZE 0x3000U
#define DATA 0x600000ULL
#define DATA_SIZE 0x1000U
#define RODATA 0x500000ULL
#define RODATA_SIZE 0x1000U
#define CODE 0x400000ULL
#define CODE_SIZE 0x1000U
#define PAGE 0x1000U

/* The end of glibc's chunk: what malloc(n) gives is 24, 40, 56... bytes. */
static uint64_t chunk_end(uint64_t size)
{
	uint64_t usable = 24;

	while (usable < size)
		usable += 16;
	return usable;
}

/* --- making a heap --------------------------------------------------------------------------- */

static uint64_t pointer_to(struct random_numbers *r, const struct reach_block *b)
{
	switch (random_below(r, 12)) {
	case 0:
	case 1:
		return b->addr + 8;
	case 2:
		return b->addr + 24;
	case 3:
		return b->addr + b->size;
	case 6:
		return b->addr + chunk_end(b->size) - 8; /* as glibc's bins */
	case 4:
	case 5:
		return b->addr + random_below(r, b->size + 1);
	default:
		return b->addr;
	}
}

static uint64_t a_word(struct random_numbers *r, const struct heap *heap, uint32_t percent)
{
	if (heap->blocks.len && random_below(r, 100) < percent)
		return pointer_to(r, &heap->blocks.data[random_below(r, heap->blocks.len)]);
	switch (random_below(r, 8)) {
	case 0:
		return RODATA + random_below(r, RODATA_SIZE / 8) * 8;
	case 1:
	case 2:
		return random_below(r, 80);
	case 3:
		return random_next(r);
	default:
		return 0;
	}
}

/* What a heuristic looks for at the start of a block. */
static void put_head(struct random_numbers *r, struct heap *heap, const struct reach_block *b)
{
	static const uint64_t cookies[] = { 1, 2, 3, 4, 8 };

	if (b->size < 32)
		return;
	switch (random_below(r, 6)) {
	case 0:
		heap_put(heap, b->addr, b->size - 8);
		break;
	case 1:
		heap_put(heap, b->addr, random_below(r, b->size - 16));
		heap_put(heap, b->addr + 8, b->size - 25);
		if (random_below(r, 2)) /* else hardly any is led to by this alone */
			heap_put(heap, DATA + random_below(r, DATA_SIZE / 8) * 8, b->addr + 24);
		break;
	case 2:
		heap_put(heap, b->addr, cookies[random_below(r, 5)]);
		break;
	case 3:
		heap_put(heap, b->addr, RODATA + random_below(r, 32) * 8);
		heap_put(heap, b->addr + 8 + random_below(r, 2) * 16,
			 RODATA + random_below(r, 32) * 8);
		break;
	default:
		break;
	}
}

static void put_blocks(struct random_numbers *r, struct heap *heap)
{
	static const uint64_t sizes[] = { 0, 1, 8, 16, 17, 24, 32, 40, 48, 56, 64, 72, 120, 400 };
	static const uint64_t gaps[] = { 0, 8, 8, 16, 40, 128, 700 };
	size_t n = random_below(r, MAX_BLOCKS + 1);
	uint64_t at = HEAP + random_below(r, 32) * 8;

	for (size_t i = 0; i < n; i++) {
		uint64_t size = sizes[random_below(r, sizeof(sizes) / sizeof(*sizes))];
		uint64_t declared = size, gap = gaps[random_below(r, 7)];

		if (random_below(r, 16) == 0)
			at += random_below(r, 7) + 1;
		if (random_below(r, 32) == 0)
			declared += gap + 9; /* may reach into the next: a free was missed */
		if (at + declared + 16 > HEAP + HEAP_SIZE)
			break;
		heap_block(heap, at, declared, random_below(r, 40) ? 0 : REACH_BLOCK_ROOT);
		at += (size ? size : 1) + gap;
		if (random_below(r, 4))
			at = (at + 7) & ~7ULL;
	}
}

static void put_words(struct random_numbers *r, struct heap *heap)
{
	static const uint32_t densities[] = { 2, 5, 10, 30 };
	uint32_t percent = densities[random_below(r, 4)];
	uint32_t shift = heap->opts.alignment < 8 ? heap->opts.alignment : 0;

	for (uint64_t at = HEAP; at + 16 <= HEAP + HEAP_SIZE; at += 8)
		heap_put(heap, at + (random_below(r, 4) ? 0 : shift), a_word(r, heap, percent));
	for (size_t i = 0; i < heap->blocks.len; i++)
		put_head(r, heap, &heap->blocks.data[i]);
	for (uint32_t i = random_below(r, 6); i; i--)
		heap_put(heap, DATA + random_below(r, DATA_SIZE / 8) * 8, a_word(r, heap, 90));
	for (uint64_t at = RODATA; at < RODATA + RODATA_SIZE; at += 8)
		if (random_below(r, 3))
			heap_put(heap, at, CODE + random_below(r, CODE_SIZE + 64));
}

static void make_heap(struct random_numbers *r, struct heap *heap)
{
	heap_init(heap);
	if (random_below(r, 4) == 0)
		heap->opts.alignment = 1U << random_below(r, 4);
	heap->opts.end_pointers = random_below(r, 4) == 0;
	heap->opts.threads = random_below(r, 16) ? 1 : 3;
	if (random_below(r, 3) == 0)
		heap->opts.heuristics = random_below(r, REACH_ALL_HEURISTICS + 1);
	heap_region(heap, HEAP, HEAP_SIZE);
	heap_region(heap, DATA, DATA_SIZE);
	heap_region(heap, RODATA, RODATA_SIZE);
	heap_file(heap, CODE, CODE + CODE_SIZE, REACH_FILE_READABLE | REACH_FILE_EXECUTABLE);
	heap_file(heap, RODATA, RODATA + RODATA_SIZE, REACH_FILE_READABLE);
	heap_root(heap, DATA, DATA + DATA_SIZE, random_below(r, 4) ? 0 : REACH_ROOT_GLIBC);
	if (random_below(r, 8) == 0)
		heap_root(heap, HEAP, HEAP + HEAP_SIZE, 0);
	put_blocks(r, heap);
	put_words(r, heap);
	for (uint32_t i = random_below(r, 3); i; i--)
		heap_word(heap, a_word(r, heap, 60));
	if (random_below(r, 8) == 0)
		heap_unreadable(heap, HEAP + random_below(r, HEAP_SIZE / PAGE) * PAGE);
}

/* --- the plain way --------------------------------------------------------------------------- */

/* How a source leads to a block: bits. A heuristic h is 1 << h, which leaves bits 0 and 5. */
#define BY_START 1U
#define BY_INSIDE (1U << REACH_HEURISTICS)

struct plain {
	const struct heap *heap;
	size_t n;
	uint32_t by[MAX_BLOCKS + 1][MAX_BLOCKS]; /* the source n is all roots */
	bool leads[MAX_BLOCKS][MAX_BLOCKS];	 /* among lost blocks, over any number of others */
	struct reach_verdict verdicts[MAX_BLOCKS];
	uint64_t glibc_words;
};

static const struct reach_block *block(const struct plain *p, size_t i)
{
	return &p->heap->blocks.data[i];
}

static uint64_t end_of(const struct plain *p, size_t i)
{
	uint64_t end = block(p, i)->addr + (block(p, i)->size ? block(p, i)->size : 1);

	return i + 1 < p->n && block(p, i + 1)->addr < end ? block(p, i + 1)->addr : end;
}

static bool read_word(const struct plain *p, uint64_t addr, uint64_t *ret_word)
{
	for (size_t i = 0; i < 8; i++) {
		unsigned char *byte = (unsigned char *)ret_word + i;

		if (heap_read((void *)p->heap, addr + i, byte, 1) != 1)
			return false;
	}
	return true;
}

/* Two functions among the first twenty words, and nothing else but zeros before them. */
static bool vtable_at(const struct plain *p, uint64_t addr)
{
	int functions = 0;
	uint64_t word;

	if (addr % 8 || addr < RODATA || addr >= RODATA + RODATA_SIZE)
		return addr % 8 == 0 && addr >= CODE && addr < CODE + CODE_SIZE &&
		       read_word(p, addr, &word); /* code is readable, but not there */
	for (int i = 0; i < 20 && functions < 2; i++) {
		if (!read_word(p, addr + i * 8, &word))
			return false;
		if (word && (word < CODE || word >= CODE + CODE_SIZE))
			return false;
		functions += word != 0;
	}
	return functions == 2;
}

static bool looks_like(const struct plain *p, const struct reach_block *b, uint64_t ptr,
		       enum reach_heuristic h)
{
	uint64_t inside = ptr - b->addr, first, second, there;

	if (!(p->heap->opts.heuristics & (1U << h)) || !read_word(p, b->addr, &first))
		return false;
	switch (h) {
	case REACH_STDSTRING:
		return inside == 24 && b->size > 24 && read_word(p, b->addr + 8, &second) &&
		       first <= second && second + 25 == b->size;
	case REACH_LENGTH64:
		return inside == 8 && b->size > 8 && first + 8 == b->size;
	case REACH_NEWARRAY:
		return inside == 8 && b->size > 8 && first && (b->size - 8) % first == 0;
	default:
		return ptr % 8 == 0 && b->addr % 8 == 0 && read_word(p, ptr, &there) &&
		       vtable_at(p, there) && vtable_at(p, first);
	}
}

static void add_word(struct plain *p, size_t source, uint64_t word, uint32_t flags)
{
	size_t hit = p->n;

	for (size_t i = 0; i < p->n; i++)
		if (word >= block(p, i)->addr && word < end_of(p, i))
			hit = i;
	for (size_t i = 0; i < p->n && hit == p->n && p->heap->opts.end_pointers; i++)
		if (word == end_of(p, i))
			hit = i;
	if (hit == p->n)
		return;
	if (flags & REACH_ROOT_GLIBC &&
	    word == block(p, hit)->addr + chunk_end(block(p, hit)->size) - 8) {
		p->glibc_words++;
	} else if (word == block(p, hit)->addr) {
		p->by[source][hit] |= BY_START;
	} else {
		enum reach_heuristic h = REACH_STDSTRING;

		while (h < REACH_HEURISTICS && !looks_like(p, block(p, hit), word, h))
			h++;
		p->by[source][hit] |= 1U << h; /* or BY_INSIDE */
	}
}

static bool in_a_block(const struct plain *p, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < p->n; i++)
		if (block(p, i)->addr < end && end_of(p, i) > start)
			return true;
	return false;
}

static void add_words(struct plain *p, size_t source, uint64_t start, uint64_t end, uint32_t flags)
{
	uint32_t step = p->heap->opts.alignment;

	for (uint64_t at = (start + step - 1) / step * step; at + 8 <= end; at += step) {
		uint64_t word;

		if (source == p->n && in_a_block(p, at, at + 8))
			continue;
		if (read_word(p, at, &word))
			add_word(p, source, word, flags);
	}
}

static void add_all_words(struct plain *p)
{
	vec_foreach(&p->heap->roots, root)
		add_words(p, p->n, root->start, root->end, root->flags);
	vec_foreach(&p->heap->words, word)
		add_word(p, p->n, *word, 0);
	for (size_t i = 0; i < p->n; i++) {
		if (block(p, i)->flags & REACH_BLOCK_ROOT)
			p->by[p->n][i] |= BY_START;
		if (block(p, i)->size)
			add_words(p, i, block(p, i)->addr, end_of(p, i), 0);
	}
}

/* What makes `to` reachable, all reachable sources together; inside: what makes it possible. */
static uint32_t led_by(const struct plain *p, size_t to, enum reach_class class)
{
	uint32_t by = p->by[p->n][to];

	for (size_t from = 0; from < p->n; from++)
		if (p->verdicts[from].class == class || p->verdicts[from].class == REACH_REACHABLE)
			by |= p->by[from][to];
	return by;
}

static void spread(struct plain *p)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < p->n; i++)
			if (p->verdicts[i].class != REACH_REACHABLE &&
			    led_by(p, i, REACH_REACHABLE) & (BY_INSIDE - 1)) {
				p->verdicts[i].class = REACH_REACHABLE;
				changed = true;
			}
	}
	for (changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < p->n; i++)
			if (p->verdicts[i].class == REACH_DEFINITE &&
			    led_by(p, i, REACH_POSSIBLE)) {
				p->verdicts[i].class = REACH_POSSIBLE;
				changed = true;
			}
	}
	for (size_t i = 0; i < p->n; i++) {
		uint32_t by = led_by(p, i, REACH_REACHABLE);

		while (p->verdicts[i].class == REACH_REACHABLE &&
		       !(by & (1U << p->verdicts[i].heuristic)))
			p->verdicts[i].heuristic++;
	}
}

static void close_leads(struct plain *p)
{
	for (size_t a = 0; a < p->n; a++)
		for (size_t b = 0; b < p->n; b++)
			p->leads[a][b] = p->by[a][b] && p->verdicts[a].class == REACH_DEFINITE &&
					 p->verdicts[b].class == REACH_DEFINITE;
	for (size_t over = 0; over < p->n; over++)
		for (size_t a = 0; a < p->n; a++)
			for (size_t b = 0; b < p->n; b++)
				p->leads[a][b] |= p->leads[a][over] && p->leads[over][b];
}

/*
 * Does leader k take leader i, which comes before it? It must lead to i otherwise than over what i
 * leads to, which is i's already: so memcheck leaves the two of a cycle that k only leads into.
 */
static bool takes(const struct plain *p, size_t k, size_t i)
{
	for (size_t from = 0; from < p->n; from++)
		if (p->by[from][i] && from != i && !p->leads[i][from] &&
		    (from == k || p->leads[k][from]))
			return true;
	return false;
}

/*
 * A block that no lower one leads to is a leader; any other hangs on the lowest leader that leads
 * to it. A leader hangs on the lowest of the higher leaders that takes it.
 */
static uint32_t hangs_on(const struct plain *p, const bool *leader, size_t i)
{
	for (size_t k = leader[i] ? i + 1 : 0; k < p->n; k++)
		if (leader[k] && (leader[i] ? takes(p, k, i) : p->leads[k][i]))
			return k;
	return REACH_NO_LEADER;
}

static void divide(struct plain *p)
{
	bool leader[MAX_BLOCKS];
	uint32_t on[MAX_BLOCKS];

	close_leads(p);
	for (size_t i = 0; i < p->n; i++) {
		leader[i] = p->verdicts[i].class == REACH_DEFINITE;
		for (size_t j = 0; j < i; j++)
			leader[i] &= !p->leads[j][i];
	}
	for (size_t i = 0; i < p->n; i++)
		on[i] = hangs_on(p, leader, i);
	for (size_t i = 0; i < p->n; i++) {
		uint32_t last = i;

		while (on[last] != REACH_NO_LEADER)
			last = on[last];
		p->verdicts[i].leader = last == i ? REACH_NO_LEADER : last;
		if (last != i)
			p->verdicts[i].class = REACH_INDIRECT;
	}
}

static void classify_plainly(struct plain *p, const struct heap *heap)
{
	*p = (struct plain){ .heap = heap, .n = heap->blocks.len };
	for (size_t i = 0; i < p->n; i++)
		p->verdicts[i].class = REACH_DEFINITE;
	add_all_words(p);
	spread(p);
	divide(p);
}

/* --- the comparison -------------------------------------------------------------------------- */

struct seen {
	size_t classes[REACH_CLASSES], heuristics[REACH_HEURISTICS];
	size_t taken_leaders, overlapping, glibc_words;
};

static void compare(const struct heap *heap, const struct plain *p, uint64_t seed)
{
	uint64_t overlapping = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct reach_verdict *is = &heap->verdicts[i], *ought = &p->verdicts[i];

		if (is->class != ought->class || is->leader != ought->leader ||
		    is->heuristic != ought->heuristic)
			fail_msg("heap %llu, block %zu of %zu: %s, leader %d, heuristic %d; "
				 "plainly %s, %d, %d",
				 (unsigned long long)seed, i, p->n, reach_class_name(is->class),
				 (int)is->leader, is->heuristic, reach_class_name(ought->class),
				 (int)ought->leader, ought->heuristic);
		overlapping += i + 1 < p->n &&
			       block(p, i)->addr + block(p, i)->size > block(p, i + 1)->addr;
	}
	assert_int_equal(heap->stats.end, REACH_COMPLETE);
	assert_int_equal(heap->stats.overlapping, overlapping);
	assert_int_equal(heap->stats.glibc_words, p->glibc_words);
}

static void count(struct seen *seen, const struct plain *p, const struct reach_stats *stats)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct reach_verdict *v = &p->verdicts[i];

		seen->classes[v->class]++;
		seen->heuristics[v->heuristic]++;
		seen->taken_leaders += v->class == REACH_INDIRECT && v->leader > i;
	}
	seen->overlapping += stats->overlapping;
	seen->glibc_words += stats->glibc_words;
}

/* Everything must have happened often, or the comparison says little. */
static void assert_rich(const struct seen *seen)
{
	for (int i = 0; i < REACH_CLASSES; i++)
		assert_true(seen->classes[i] > HEAPS / 8);
	for (int i = REACH_BY_POINTER + 1; i < REACH_HEURISTICS; i++)
		assert_true(seen->heuristics[i] > HEAPS / 50);
	assert_true(seen->taken_leaders > HEAPS / 8);
	assert_true(seen->overlapping > HEAPS / 8);
	assert_true(seen->glibc_words > HEAPS / 50);
}

static void random_heaps_are_classified_as_by_the_plain_way(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= HEAPS; seed++) {
		_cleanup_(heap_done) struct heap heap;
		struct random_numbers r = random_from(seed);
		struct plain plain;

		make_heap(&r, &heap);
		heap_check(&heap);
		classify_plainly(&plain, &heap);
		compare(&heap, &plain, seed);
		count(&seen, &plain, &heap.stats);
	}
	assert_rich(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_heaps_are_classified_as_by_the_plain_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
