/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/bucket_table.h"

#include "base/cleanup.h"
#include "memtraced.skel.h"
#include "trace/bpf/map_memory.h"
#include "trace/bpf/programs.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>

/*
 * Marks without a bit that are mapped along rather than mapped around, 16 KiB of buckets each: a
 * call takes as long as to map 100 pages.
 */
#define MARKS_MAPPED_ALONG 32

struct marks {
	uint64_t *bits;
	size_t n, len;
};

static void marks_done(struct marks *marks)
{
	if (marks->bits)
		munmap(marks->bits, marks->len);
}

static int map_marks(const struct programs *programs, struct marks *ret_marks)
{
	const struct bpf_map *map = programs->skel->maps.block_marks;
	void *mem;
	int r = map_memory(map, &mem, &ret_marks->len);

	if (r)
		return r;
	ret_marks->bits = mem;
	ret_marks->n = bpf_map__max_entries(map);
	return 0;
}

int bucket_table_map(const struct programs *programs, struct bucket_table *ret_table)
{
	_cleanup_(marks_done) struct marks marks = {};
	void *mem;
	int r = map_marks(programs, &marks);

	if (r == 0)
		r = map_memory(programs->skel->maps.block_buckets, &mem, &ret_table->len);
	if (r)
		return r;
	ret_table->marks_len = marks.len;
	ret_table->marks = TAKE_PTR(marks.bits);
	ret_table->buckets = mem;
	ret_table->n = bpf_map__max_entries(programs->skel->maps.block_buckets);
	return 0;
}

void bucket_table_done(struct bucket_table *table)
{
	if (table->buckets)
		munmap(table->buckets, table->len);
	if (table->marks)
		munmap(table->marks, table->marks_len);
	table->buckets = NULL;
	table->marks = NULL;
}

void bucket_table_mark(const struct bucket_table *table, size_t bucket)
{
	__atomic_fetch_or(&table->marks[bucket / ABI_BUCKETS_A_MARK],
			  1ULL << bucket % ABI_BUCKETS_A_MARK, __ATOMIC_SEQ_CST);
}

/* The marks from `first` on up to `end`. */
struct marked {
	size_t first, end;
};

/* The next marks with bits, as many as are mapped at once; false: there are no more. */
static bool next_range(const struct marks *marks, struct marked *range)
{
	size_t i = range->end;

	while (i < marks->n && !__atomic_load_n(&marks->bits[i], __ATOMIC_ACQUIRE))
		i++;
	range->first = i;
	range->end = i;
	for (; i < marks->n && i <= range->end + MARKS_MAPPED_ALONG; i++)
		if (__atomic_load_n(&marks->bits[i], __ATOMIC_ACQUIRE))
			range->end = i + 1;
	return range->end > range->first;
}

static int visit_bits(uint64_t bits, struct abi_block_bucket *buckets, bucket_fn fn, void *userdata)
{
	int r = 0;

	for (; bits && r == 0; bits &= bits - 1)
		r = fn(&buckets[__builtin_ctzll(bits)], userdata);
	return r;
}

static size_t whole_pages(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static int visit_range(const struct programs *programs, const struct marks *marks,
		       const struct marked *range, bucket_fn fn, void *userdata)
{
	const struct bpf_map *map = programs->skel->maps.block_buckets;
	const size_t each = ABI_BUCKETS_A_MARK * sizeof(struct abi_block_bucket);
	const size_t all = whole_pages(bpf_map__max_entries(map) * sizeof(struct abi_block_bucket));
	const size_t from = range->first * each / whole_pages(1) * whole_pages(1);
	const size_t to = whole_pages(range->end * each), end = to < all ? to : all;
	char *mem = mmap(NULL, end - from, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map),
			 (off_t)from);
	int r = 0;

	if (mem == MAP_FAILED)
		return -errno;
	for (size_t i = range->first; i < range->end && r == 0; i++)
		r = visit_bits(__atomic_load_n(&marks->bits[i], __ATOMIC_ACQUIRE),
			       (struct abi_block_bucket *)(mem + (i * each - from)), fn, userdata);
	munmap(mem, end - from);
	return r;
}

int bucket_table_visit(const struct programs *programs, bucket_fn fn, void *userdata)
{
	_cleanup_(marks_done) struct marks marks = {};
	struct marked range = {};
	int r;

	if (!programs->has_tables)
		return 0;
	r = map_marks(programs, &marks);
	while (r == 0 && next_range(&marks, &range))
		r = visit_range(programs, &marks, &range, fn, userdata);
	return r;
}
