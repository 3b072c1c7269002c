/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/books/book_read.h"

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/abi_heap_error.h"
#include "bpf/abi_unwind.h"
#include "trace/books/address_set.h"
#include "trace/books/book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Nodes are read a page at a time, once: in few places, others could push each other out. */
#define PAGE_NODES 256U
struct node_key {
	uint32_t number;
};
struct node_page {
	uint32_t number;
	struct abi_book_node nodes[PAGE_NODES];
};
DEFINE_HASHMAP_OPS(page_ops, struct node_key, free, number);

/* Entries that are read at once, into room that is not cleared before. */
#define SITES_AT_ONCE 256U
#define BUCKETS_AT_ONCE 256U
#define TOMBS_AT_ONCE 1024U
#define PAIRS_AT_ONCE 256U
#define FREED_AT_ONCE 1024U
/* A block that changes hands so often while it is read is left out. */
#define BLOCK_TRIES 4

/* Entries of a table that were told, each of a place of its own, which takes memory. */
#define TOLD_AT_ONCE 1024U
struct told {
	uint64_t n;
};

static int count_told(const struct book *book, struct told *told, size_t entry_size)
{
	if (++told->n % TOLD_AT_ONCE)
		return 0;
	return book_check_told(book, told->n * entry_size);
}

struct site_reading {
	const struct book *book;
	struct told told;
	uint32_t cut_epoch, peak_epoch;
	struct abi_book_site *first, *second;
	struct abi_book_site_cut *cuts;
	int64_t sum; /* of what was told */
};

/* Has it changed since the cut, or is it about to? */
static bool is_saved(const struct site_reading *reading, const struct abi_book_site *site)
{
	return (site->cut_epoch & ~ABI_CUT_BUSY) == reading->cut_epoch;
}

/* Is there room for it in sums? */
static bool add_up(int64_t *sum, int64_t n)
{
	if (n > BOOK_MOST || n < -BOOK_MOST)
		return false;
	*sum += n < 0 ? -n : n;
	return *sum <= BOOK_MOST;
}

/*
 * What it was at the cut. The first change after the cut saves and then says so: what a second
 * reading finds unsaved was unchanged in the first one, and what one of them finds saved is whole
 * in what was read after them.
 */
static void site_at_cut(const struct site_reading *reading, size_t i, struct book_site *ret)
{
	const struct abi_book_site *site = &reading->first[i];

	if (is_saved(reading, site) || is_saved(reading, &reading->second[i])) {
		ret->counts = reading->cuts[i].counts;
		ret->peak_bytes = reading->cuts[i].peak_bytes;
	} else {
		bool had_peak = site->peak_epoch == reading->peak_epoch;

		ret->counts = site->now;
		ret->peak_bytes = had_peak ? site->peak_bytes : site->now.live_bytes;
		if (!had_peak)
			ret->counts.peak_blocks = site->now.live_blocks;
	}
}

static int tell_site(struct site_reading *reading, size_t i, book_site_fn fn, void *userdata)
{
	const struct abi_book_site *site = &reading->first[i];
	struct book_site told = { .node = site->node, .function = site->function };

	/* One that is being written, or that no library has made. */
	if (!site->thread || site->thread >= ABI_BOOK_THREADS || site->node >= ABI_BOOK_NODES ||
	    !site->function || site->function >= ABI_BOOK_FUNCTIONS)
		return 0;
	site_at_cut(reading, i, &told);
	/* By our clock. */
	told.counts.lifetimes += (uint64_t)told.counts.live_blocks *
				 (uint64_t)(reading->book->clock_ns >> ABI_CLOCK_SHIFT);
	if (!add_up(&reading->sum, told.counts.live_bytes) ||
	    !add_up(&reading->sum, told.counts.live_blocks) ||
	    !add_up(&reading->sum, told.peak_bytes) ||
	    !add_up(&reading->sum, told.counts.peak_blocks) ||
	    count_told(reading->book, &reading->told, sizeof(*site)))
		return -EBADMSG;
	return fn(&told, userdata);
}

static int read_range(struct site_reading *reading, const struct book_range *range, book_site_fn fn,
		      void *userdata)
{
	size_t n = range->end - range->first, len = n * sizeof(struct abi_book_site);
	uint64_t place = ABI_BOOK_AT_SITES + range->first * sizeof(struct abi_book_site),
		 cuts = ABI_BOOK_AT_CUTS + range->first * sizeof(struct abi_book_site_cut);
	int r = book_get(reading->book, place, reading->first, len);

	if (r == 0)
		r = book_get(reading->book, place, reading->second, len);
	if (r == 0)
		r = book_get(reading->book, cuts, reading->cuts, n * sizeof(*reading->cuts));
	for (size_t i = 0; i < n && r == 0; i++)
		r = tell_site(reading, i, fn, userdata);
	return r;
}

int book_read_sites(const struct book *book, uint32_t cut_epoch, book_site_fn fn, void *userdata)
{
	_cleanup_free_ struct abi_book_site *copies =
		reallocarray(NULL, 2 * (size_t)SITES_AT_ONCE, sizeof(*copies));
	_cleanup_free_ struct abi_book_site_cut *cuts =
		reallocarray(NULL, SITES_AT_ONCE, sizeof(*cuts));
	struct site_reading reading = { .book = book,
					.cut_epoch = book->first_epoch + cut_epoch,
					.first = copies,
					.cuts = cuts };
	struct abi_book_header header;
	struct book_totals totals;
	struct book_range range;
	uint64_t end, at = 1;
	int r;

	if (!copies || !cuts)
		return -ENOMEM;
	reading.second = copies + SITES_AT_ONCE;
	r = book_read_totals(book, cut_epoch, &totals);
	if (r == 0)
		r = book_get_tables(book, &header);
	if (r)
		return r;
	reading.peak_epoch = totals.peak_epoch;
	end = book_at_most(header.sites, ABI_BOOK_SITES - 1) + 1;
	while (r == 0 && book_next_range(end, SITES_AT_ONCE, &at, &range))
		r = read_range(&reading, &range, fn, userdata);
	return r;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static bool is_block(const struct abi_book_bucket *bucket, size_t way)
{
	uint64_t address = bucket->address[way];

	return address && !(address & ABI_BOOK_FREED); /* a busy one has that bit, too */
}

static bool is_same(const struct abi_book_bucket *a, const struct abi_book_bucket *b, size_t way)
{
	return a->address[way] == b->address[way] &&
	       memcmp(&a->block[way], &b->block[way], sizeof(a->block[way])) == 0;
}

/* What two readings find the same was written by one hand. False: there is no such block. */
static bool is_settled(const struct book *book, uint64_t number, size_t way,
		       struct abi_book_bucket first, struct abi_book_bucket *bucket)
{
	uint64_t place = ABI_BOOK_AT_BLOCKS + number * sizeof(first);

	for (unsigned int i = 0; i < BLOCK_TRIES; i++) {
		if (!is_block(bucket, way))
			return false;
		if (is_same(&first, bucket, way))
			return true;
		first = *bucket;
		if (book_get(book, place, bucket, sizeof(*bucket)))
			return false;
	}
	return false;
}

struct block_reading {
	const struct book *book;
	struct told told;
	int64_t sum;		  /* of those that were told */
	size_t entry_size;	  /* of their places in the book */
	struct address_set *seen; /* their addresses; NULL: each is there once */
	book_block_fn fn;
	void *userdata;
};

/* A block may be so many ticks ahead of the time: book_tell(). */
#define TICKS_AHEAD 1000U

/* The block has the lower bits, of some time before now. */
static uint64_t tick_of(const struct book *book, const struct abi_book_block *block)
{
	uint64_t now_ns = clock_monotonic_ns() + (uint64_t)book->clock_ns;
	uint64_t latest = now_ns / ABI_TICK_NS + TICKS_AHEAD;
	uint32_t before = (uint32_t)latest - block->tick;
	int64_t ns = before < latest ? (int64_t)((latest - before) * ABI_TICK_NS) : 0;

	return ns > book->clock_ns ? (uint64_t)(ns - book->clock_ns) / ABI_TICK_NS : 0;
}

static int tell_block(struct block_reading *reading, uint64_t address,
		      const struct abi_book_block *block, uint32_t freed_era)
{
	const struct book_block told = { .address = address & ~ABI_BOOK_SHED,
					 .size = ABI_BOOK_SIZE(block->size_fn),
					 .node = block->node,
					 .tick = tick_of(reading->book, block),
					 .era = ABI_BOOK_ERA(block->size_fn),
					 .freed_era = freed_era,
					 .is_shed = address & ABI_BOOK_SHED,
					 .function = (uint16_t)ABI_BOOK_FN(block->size_fn),
					 .form = (uint8_t)ABI_BOOK_FORM(block->size_fn) };
	int r = 1;

	if (!told.address || told.address >= ABI_ADDR_LIMIT || told.address & 7 ||
	    told.node >= ABI_BOOK_NODES)
		return 0;
	if (!told.is_shed && (!told.function || told.function >= ABI_BOOK_FUNCTIONS))
		return 0;
	if (reading->seen && reading->book->copies && reading->seen->n == reading->book->copies)
		return -EBADMSG;
	if (reading->seen)
		r = address_set_add(reading->seen, address);
	if (r != 1)
		return r;
	if (!add_up(&reading->sum, (int64_t)told.size) ||
	    count_told(reading->book, &reading->told, reading->entry_size))
		return -EBADMSG;
	return reading->fn(&told, reading->userdata);
}

static int read_buckets(struct block_reading *reading, const struct book_range *range,
			struct abi_book_bucket *first, struct abi_book_bucket *second)
{
	const struct book *book = reading->book;
	size_t n = range->end - range->first, len = n * sizeof(*first);
	uint64_t place = ABI_BOOK_AT_BLOCKS + range->first * sizeof(*first);
	int r = book_get(book, place, first, len);

	if (r == 0)
		r = book_get(book, place, second, len);
	for (size_t i = 0; i < n && r == 0; i++)
		for (size_t way = 0; way < ABI_BOOK_WAYS && r == 0; way++) {
			struct abi_book_bucket bucket = second[i];

			if (is_settled(book, range->first + i, way, first[i], &bucket))
				r = tell_block(reading, bucket.address[way], &bucket.block[way],
					       BOOK_LIVE);
		}
	return r;
}

/* Of buckets from the first one on. */
static int read_table(struct block_reading *reading, uint64_t n, uint64_t deadline_ns)
{
	_cleanup_free_ struct abi_book_bucket *copies =
		reallocarray(NULL, 2 * (size_t)BUCKETS_AT_ONCE, sizeof(*copies));
	struct book_range range;
	uint64_t at = 0;
	int r = 0;

	if (!copies)
		return -ENOMEM;
	while (r == 0 && book_next_range(n, BUCKETS_AT_ONCE, &at, &range)) {
		if (deadline_ns && clock_monotonic_ns() >= deadline_ns)
			return -ETIME;
		r = read_buckets(reading, &range, copies, copies + BUCKETS_AT_ONCE);
	}
	return r;
}

/*
 * While the table is doubled, or where its process has ended meanwhile, nothing else changes: what
 * leaves a bucket is at its new place by then, which was read before that or is read by the second
 * reading.
 */
static int read_doubling(struct block_reading *reading, uint64_t n, uint64_t deadline_ns)
{
	struct address_set seen = { 0 };
	int r;

	reading->seen = &seen;
	r = read_table(reading, 2 * n, deadline_ns);
	if (r == 0)
		r = read_table(reading, 2 * n, deadline_ns);
	address_set_done(&seen);
	return r;
}

int book_read_blocks(const struct book *book, uint64_t deadline_ns, book_block_fn fn,
		     void *userdata)
{
	struct block_reading reading = { .book = book,
					 .entry_size =
						 sizeof(struct abi_book_bucket) / ABI_BOOK_WAYS,
					 .fn = fn,
					 .userdata = userdata };
	struct abi_book_header header, later;
	int r = book_get_tables(book, &header);
	uint32_t doublings = header.doublings & ~ABI_BOOK_DOUBLES;

	if (r || doublings > ABI_BOOK_DOUBLINGS)
		return r;
	if (!(header.doublings & ABI_BOOK_DOUBLES))
		r = read_table(&reading, ABI_BOOK_BUCKETS(doublings), deadline_ns);
	else if (doublings < ABI_BOOK_DOUBLINGS)
		r = read_doubling(&reading, ABI_BOOK_BUCKETS(doublings), deadline_ns);
	if (r == 0)
		r = book_get_header(book, &later);
	return r == 0 && later.doublings != header.doublings ? -EAGAIN : r;
}

/* What two readings find the same is whole; a block whose tomb is being written is in the table. */
static int read_tombs(struct block_reading *reading, const struct book_range *range,
		      struct abi_book_tomb *first, struct abi_book_tomb *second)
{
	const struct book *book = reading->book;
	size_t n = range->end - range->first, len = n * sizeof(*first);
	uint64_t place = ABI_BOOK_AT_TOMBS + range->first * sizeof(*first);
	int r = book_get(book, place, first, len);

	if (r == 0)
		r = book_get(book, place, second, len);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct abi_book_tomb *tomb = &second[i];

		if (!tomb->address || tomb->address & ABI_BOOK_SHED ||
		    tomb->freed_era == BOOK_LIVE || memcmp(&first[i], tomb, sizeof(*tomb)) != 0)
			continue;
		r = tell_block(reading, tomb->address, &tomb->block, tomb->freed_era);
	}
	return r;
}

int book_read_tombs(const struct book *book, uint64_t deadline_ns, book_block_fn fn, void *userdata)
{
	_cleanup_free_ struct abi_book_tomb *copies =
		reallocarray(NULL, 2 * (size_t)TOMBS_AT_ONCE, sizeof(*copies));
	struct block_reading reading = { .book = book,
					 .entry_size = sizeof(struct abi_book_tomb),
					 .fn = fn,
					 .userdata = userdata };
	struct abi_book_header header;
	struct book_range range;
	uint64_t end, at = 1;
	int r;

	if (!copies)
		return -ENOMEM;
	r = book_get_tables(book, &header);
	if (r)
		return r;
	end = book_at_most(header.tombs, ABI_BOOK_TOMBS - 1) + 1;
	while (r == 0 && book_next_range(end, TOMBS_AT_ONCE, &at, &range)) {
		if (deadline_ns && clock_monotonic_ns() >= deadline_ns)
			return -ETIME;
		r = read_tombs(&reading, &range, copies, copies + TOMBS_AT_ONCE);
	}
	return r;
}

/* --- wrong uses of the heap ------------------------------------------------------------------- */

static bool is_of_library(const struct abi_book_block *block)
{
	return block->node < ABI_BOOK_NODES && ABI_BOOK_FN(block->size_fn) &&
	       ABI_BOOK_FN(block->size_fn) < ABI_BOOK_FUNCTIONS;
}

static struct book_block block_of(const struct book *book, uint64_t address,
				  const struct abi_book_block *block)
{
	return (struct book_block){ .address = address,
				    .size = ABI_BOOK_SIZE(block->size_fn),
				    .node = block->node,
				    .tick = tick_of(book, block),
				    .function = (uint16_t)ABI_BOOK_FN(block->size_fn) };
}

static int tell_error(const struct book *book, const struct abi_book_error *error, book_error_fn fn,
		      void *userdata)
{
	const struct abi_book_block *about = &error->about;
	struct book_error told = { .node = error->node,
				   .function = error->function,
				   .kind = error->kind,
				   .count = error->count,
				   .time_ns = error->time_ns - (uint64_t)book->clock_ns,
				   .addr = error->addr,
				   .size = error->size,
				   .tid = error->tid };

	if (!error->kind || error->kind > ABI_REALLOC_ZERO || !error->function ||
	    error->function >= ABI_BOOK_FUNCTIONS || error->node >= ABI_BOOK_NODES)
		return 0;
	if (error->block && is_of_library(about))
		told.block = block_of(book, error->block, about);
	if (error->freed_node < ABI_BOOK_NODES && error->freed_function < ABI_BOOK_FUNCTIONS) {
		told.freed_node = error->freed_node;
		told.freed_function = error->freed_function;
	}
	return fn(&told, userdata);
}

/* They do not change but for their counts; what is being written has no kind yet. */
int book_read_errors(const struct book *book, book_error_fn fn, void *userdata)
{
	struct abi_book_header header;
	int r = book_get_header(book, &header);
	uint64_t n = r == 0 ? book_at_most(header.errors, ABI_BOOK_ERRORS) : 0;

	for (uint64_t i = 0; i < n && r == 0; i++) {
		struct abi_book_error error;

		r = book_get(book, ABI_BOOK_AT_ERRORS + i * sizeof(error), &error, sizeof(error));
		if (r == 0)
			r = tell_error(book, &error, fn, userdata);
	}
	return r;
}

static int tell_freed(const struct book *book, const struct abi_book_freed *freed, book_freed_fn fn,
		      void *userdata)
{
	const struct book_freed told = { .block = block_of(book, freed->address, &freed->block),
					 .node = freed->node,
					 .function = freed->function };

	if (!freed->address || freed->address >= ABI_ADDR_LIMIT || !is_of_library(&freed->block) ||
	    freed->node >= ABI_BOOK_NODES || !freed->function ||
	    freed->function >= ABI_BOOK_FUNCTIONS)
		return 0;
	return fn(&told, userdata);
}

/* Places are taken one after the other. */
static bool has_freed(const struct abi_book_freed *copies, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (copies[i].address)
			return true;
	return false;
}

/* What two readings find the same is whole. */
int book_read_freed(const struct book *book, book_freed_fn fn, void *userdata)
{
	_cleanup_free_ struct abi_book_freed *copies =
		reallocarray(NULL, 2 * (size_t)FREED_AT_ONCE, sizeof(*copies));
	struct abi_book_freed *again = copies + FREED_AT_ONCE;
	struct book_range range;
	uint64_t at = 0;
	int r = copies ? 0 : -ENOMEM;

	while (r == 0 && book_next_range(ABI_FREED_BLOCKS, FREED_AT_ONCE, &at, &range)) {
		uint64_t place = ABI_BOOK_AT_FREED + range.first * sizeof(*copies);
		size_t n = range.end - range.first;

		r = book_get(book, place, copies, n * sizeof(*copies));
		if (r == 0 && !has_freed(copies, n))
			break;
		if (r == 0)
			r = book_get(book, place, again, n * sizeof(*copies));
		for (size_t i = 0; i < n && r == 0; i++)
			if (memcmp(&copies[i], &again[i], sizeof(copies[i])) == 0)
				r = tell_freed(book, &copies[i], fn, userdata);
	}
	return r;
}

/* --- where blocks are freed ------------------------------------------------------------------ */

struct pair_reading {
	const struct book *book;
	struct told told;
	struct abi_book_pair *pairs;
	int64_t bytes, blocks; /* of what was told */
	book_pair_fn fn;
	void *userdata;
};

/* One that is being written, or that no library has made, is left out. */
static bool is_pair(const struct abi_book_pair *pair)
{
	return pair->thread && pair->thread < ABI_BOOK_THREADS && pair->node < ABI_BOOK_NODES &&
	       pair->free_node < ABI_BOOK_NODES && pair->function &&
	       pair->function < ABI_BOOK_FUNCTIONS && pair->free_function &&
	       pair->free_function < ABI_BOOK_FUNCTIONS && pair->counts.count;
}

/* Of so many blocks. They are read while the thread adds to them, one after the other. */
static void limit_counts(struct abi_free_pair *counts)
{
	uint64_t most = counts->count;

	if (counts->others > most)
		counts->others = most;
	if (counts->unknown > most)
		counts->unknown = most;
	for (size_t i = 0; i < ABI_LIFETIMES; i++)
		if (counts->lifetimes[i] > most)
			counts->lifetimes[i] = most;
}

static int tell_pair(struct pair_reading *reading, const struct abi_book_pair *pair)
{
	struct book_pair told = { .node = pair->node,
				  .free_node = pair->free_node,
				  .function = pair->function,
				  .free_function = pair->free_function,
				  .counts = pair->counts };

	if (!is_pair(pair))
		return 0;
	if (!add_up(&reading->bytes, (int64_t)told.counts.bytes) ||
	    !add_up(&reading->blocks, (int64_t)told.counts.count) ||
	    count_told(reading->book, &reading->told, sizeof(*pair)))
		return -EBADMSG;
	limit_counts(&told.counts);
	return reading->fn(&told, reading->userdata);
}

int book_read_pairs(const struct book *book, book_pair_fn fn, void *userdata)
{
	_cleanup_free_ struct abi_book_pair *pairs =
		reallocarray(NULL, PAIRS_AT_ONCE, sizeof(*pairs));
	struct pair_reading reading = {
		.book = book, .pairs = pairs, .fn = fn, .userdata = userdata
	};
	struct abi_book_header header;
	struct book_range range;
	uint64_t end, at = 1;
	int r = pairs ? book_get_tables(book, &header) : -ENOMEM;

	if (r)
		return r;
	end = book_at_most(header.pairs, ABI_BOOK_PAIRS - 1) + 1;
	while (r == 0 && book_next_range(end, PAIRS_AT_ONCE, &at, &range)) {
		size_t n = range.end - range.first;

		r = book_get(book, ABI_BOOK_AT_PAIRS + range.first * sizeof(*pairs), pairs,
			     n * sizeof(*pairs));
		for (size_t i = 0; i < n && r == 0; i++)
			r = tell_pair(&reading, &pairs[i]);
	}
	return r;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static int read_page(struct book *book, uint32_t number, const struct node_page **ret_page)
{
	_cleanup_free_ struct node_page *page = malloc(sizeof(*page));
	int r;

	if (!page)
		return -ENOMEM;
	page->number = number;
	r = book_check_told(book, book->pages.len * sizeof(page->nodes));
	if (r == 0)
		r = book_get(book, ABI_BOOK_AT_NODES + (uint64_t)number * sizeof(page->nodes),
			     page->nodes, sizeof(page->nodes));
	if (r == 0)
		r = hashmap_insert(&book->pages, page);
	if (r == 0)
		*ret_page = TAKE_PTR(page);
	return r;
}

static int read_node(struct book *book, uint32_t number, struct abi_book_node *ret)
{
	const struct node_key key = { number / PAGE_NODES };
	const struct node_page *page;
	int r = 0;

	book->pages.ops = &page_ops;
	page = hashmap_find(&book->pages, &key);
	if (!page)
		r = read_page(book, key.number, &page);
	if (r == 0)
		*ret = page->nodes[number % PAGE_NODES];
	return r;
}

/* The node where the stack ends says how. */
static int end_stack(const struct book *book, const struct abi_book_node *node,
		     struct book_stack *ret)
{
	if (ABI_BOOK_CUT(node->flags) >= ABI_CUTS)
		return -EINVAL;
	if (node->address > ret->time_ns)
		ret->time_ns = node->address;
	ret->time_ns -= (uint64_t)book->clock_ns;
	ret->cut = ABI_BOOK_CUT(node->flags);
	ret->epoch = ABI_BOOK_EPOCH(node->flags);
	return 0;
}

/* The times up to now: what a node tells of was written before it. */
static int read_objects(struct book *book)
{
	uint32_t n, had = book->n_objects;
	uint64_t *times;
	int r = book_get(book, offsetof(struct abi_book_header, loaded), &n, sizeof(n));

	if (r || n <= had || n >= ABI_BOOK_UNKNOWN_OBJECT)
		return r ? r : -EINVAL;
	times = reallocarray(book->object_ns, n + 1, sizeof(*times));
	if (!times)
		return -ENOMEM;
	book->object_ns = times;
	r = book_get(book, ABI_BOOK_AT_OBJECTS + (had + 1) * sizeof(*times), &times[had + 1],
		     (n - had) * sizeof(*times));
	if (r == 0)
		book->n_objects = n;
	return r;
}

static int note_object(struct book *book, uint32_t number, struct book_stack *stack)
{
	int r = number > book->n_objects ? read_objects(book) : 0;

	if (r)
		return r;
	if (number > book->n_objects)
		return -EINVAL;
	if (number && book->object_ns[number] > stack->time_ns)
		stack->time_ns = book->object_ns[number];
	return 0;
}

static void add_frame(struct book_stack *stack, const struct abi_book_node *node)
{
	if (node->flags & ABI_BOOK_EXACT)
		stack->exact[stack->n / 64] |= 1ULL << stack->n % 64;
	stack->guided |= (node->flags & ABI_BOOK_GUIDED) != 0;
	stack->frame[stack->n++] = node->address;
}

static bool was_gone(const struct book *book, uint64_t address, uint64_t since_ns)
{
	size_t next = partition_point(book->n_gone, i, book->gone[i].start <= address);
	uint64_t time_ns = next ? book->gone[next - 1].time_ns : 0;

	return time_ns && time_ns - (uint64_t)book->clock_ns > since_ns;
}

static void cut_at(struct book_stack *stack, size_t i)
{
	stack->n = i;
	stack->cut = ABI_CUT_NO_MAPPING;
	stack->exact[i / 64] &= (1ULL << i % 64) - 1;
	memset(&stack->exact[i / 64 + 1], 0,
	       (ABI_EXACT_WORDS - 1 - i / 64) * sizeof(stack->exact[0]));
}

/* What is where it was may be another's code by now. */
static void cut_at_gone(const struct book *book, struct book_stack *stack)
{
	for (size_t i = 0; book->n_gone && i < stack->n; i++)
		if (was_gone(book, stack->frame[i], stack->time_ns))
			cut_at(stack, i);
}

int book_read_stack(struct book *book, uint32_t node, size_t most, struct book_stack *ret_stack)
{
	size_t n = 0, known = SIZE_MAX;
	struct abi_book_node is;
	int r;

	ret_stack->n = 0;
	ret_stack->guided = false;
	ret_stack->time_ns = 0;
	memset(ret_stack->exact, 0, sizeof(ret_stack->exact));
	for (;; n++, node = is.parent) {
		if (node == ABI_BOOK_NO_NODE || node >= ABI_BOOK_NODES)
			return -EINVAL;
		r = read_node(book, node, &is);
		if (r)
			return r;
		if (is.parent == ABI_BOOK_NO_NODE)
			break;
		/* What comes later cannot have been there: so there are no loops. */
		if (is.parent >= node || !is.address || n == ABI_MAX_FRAMES)
			return -EINVAL;
		if (n >= most)
			continue;
		add_frame(ret_stack, &is);
		if (ABI_BOOK_OBJECT(is.flags) >= ABI_BOOK_UNKNOWN_OBJECT)
			known = known < n ? known : n;
		else if ((r = note_object(book, ABI_BOOK_OBJECT(is.flags), ret_stack)))
			return r;
	}
	r = end_stack(book, &is, ret_stack);
	if (r)
		return r;
	if (n > most)
		ret_stack->cut = ABI_CUT_LIMIT;
	if (known < ret_stack->n)
		cut_at(ret_stack, known);
	cut_at_gone(book, ret_stack);
	return 0;
}
