/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/trace_blocks.h"

#include "analyze/scanner.h"
#include "base/clock.h"
#include "base/vec.h"

#include <pthread.h>

/*
 * Pointers into a block's inside that compilers make where the program has one to the start. Pure
 * but for what the reader keeps.
 */

#define WORD sizeof(uint64_t)
#define VTABLE_WORDS 20 /* looked at; zeros are slots of pure functions that were dropped */
#define VTABLE_FUNCTIONS 2

static bool in_file(const struct reach_input *input, uint64_t addr, uint32_t flag)
{
	size_t low = partition_point(input->n_files, i, input->files[i].end <= addr);

	return low < input->n_files && input->files[low].start <= addr &&
	       input->files[low].flags & flag;
}

/* length, capacity, reference count, text, 0 (the layout before C++11's). */
static bool is_stdstring(struct memory_reader *reader, const struct reach_block *block,
			 uint64_t ptr)
{
	uint64_t length, capacity;

	return ptr == block->addr + 3 * WORD && block->size > 3 * WORD &&
	       memory_reader_word(reader, block->addr, &length) &&
	       memory_reader_word(reader, block->addr + WORD, &capacity) && length <= capacity &&
	       capacity == block->size - 3 * WORD - 1;
}

static bool is_length64(struct memory_reader *reader, const struct reach_block *block, uint64_t ptr)
{
	uint64_t length;

	return ptr == block->addr + WORD && block->size > WORD &&
	       memory_reader_word(reader, block->addr, &length) && length == block->size - WORD;
}

/* Itanium C++ ABI 2.7: a cookie with the number of elements stands before the first. */
static bool is_newarray(struct memory_reader *reader, const struct reach_block *block, uint64_t ptr)
{
	uint64_t n;

	return ptr == block->addr + WORD && block->size > WORD &&
	       memory_reader_word(reader, block->addr, &n) && n && (block->size - WORD) % n == 0;
}

static bool is_vtable(const struct reach_input *input, struct memory_reader *reader, uint64_t addr)
{
	unsigned int functions = 0;

	if (addr % WORD || addr < MEMORY_PAGE || !in_file(input, addr, REACH_FILE_READABLE))
		return false;
	for (unsigned int i = 0; i < VTABLE_WORDS && functions < VTABLE_FUNCTIONS; i++) {
		uint64_t word;

		if (!memory_reader_word(reader, addr + i * WORD, &word))
			return false;
		if (!word)
			continue;
		if (!in_file(input, word, REACH_FILE_EXECUTABLE))
			return false;
		functions++;
	}
	return functions == VTABLE_FUNCTIONS;
}

static bool is_base_class(const struct reach_input *input, struct memory_reader *reader,
			  const struct reach_block *block, uint64_t ptr)
{
	uint64_t inner, first;

	return ptr % WORD == 0 && block->addr % WORD == 0 &&
	       memory_reader_word(reader, ptr, &inner) &&
	       memory_reader_word(reader, block->addr, &first) && is_vtable(input, reader, inner) &&
	       is_vtable(input, reader, first);
}

/*
 * The first of the heuristics in `set` by which `ptr`, inside the block but not at its start, is as
 * good as one to its start; or REACH_BY_POINTER. `input` is asked for files.
 */
static enum reach_heuristic heuristics_find(const struct reach_input *input,
					    struct memory_reader *reader, uint32_t set,
					    const struct reach_block *block, uint64_t ptr)
{
	if (set & (1U << REACH_STDSTRING) && is_stdstring(reader, block, ptr))
		return REACH_STDSTRING;
	if (set & (1U << REACH_LENGTH64) && is_length64(reader, block, ptr))
		return REACH_LENGTH64;
	if (set & (1U << REACH_NEWARRAY) && is_newarray(reader, block, ptr))
		return REACH_NEWARRAY;
	if (set & (1U << REACH_MULTIPLE_INHERITANCE) && is_base_class(input, reader, block, ptr))
		return REACH_MULTIPLE_INHERITANCE;
	return REACH_BY_POINTER;
}

#define PIECE (1ULL << 20)	/* what a thread takes of a range at once */
#define LARGE_BLOCK (4 * PIECE) /* is shared out in pieces */
#define SHARE 64U		/* blocks that a thread gives to idle ones, or takes, at once */
#define LOOKS_AT_CLOCK 64U	/* one in so many blocks: 25 ns of some hundred */

/* Memory to look through in pieces: a root, or a large block. */
struct range {
	struct reach_range range;
	uint32_t block; /* or BLOCK_NONE */
};

/* A list through trace_result.next. */
struct list {
	uint32_t head;
	size_t len;
};

struct work {
	const struct reach_input *input;
	const struct reach_opts *opts;
	const struct block_index *index;
	struct trace_result *result;
	bool definite; /* false: the second pass */
	atomic_bool stop;
	atomic_uint idle;
	atomic_int error;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t more;
	unsigned int threads;
	bool finished;
	struct list blocks;
	VEC(struct range) ranges; /* the last one is being handed out */
};

struct worker {
	struct work *work;
	struct scanner scanner;
	struct list blocks;
	unsigned int looks;
	pthread_t thread;
};

static void list_push(struct list *list, uint32_t *next, uint32_t block)
{
	next[block] = list->head;
	list->head = block;
	list->len++;
}

static uint32_t list_pop(struct list *list, const uint32_t *next)
{
	uint32_t block = list->head;

	list->head = next[block];
	list->len--;
	return block;
}

static void list_move(struct list *to, struct list *from, uint32_t *next, size_t n)
{
	while (n-- && from->len)
		list_push(to, next, list_pop(from, next));
}

static void mark_definite(struct worker *w, uint32_t block, uint64_t word)
{
	const struct work *work = w->work;
	const struct reach_block *b = &work->input->blocks[block];
	_Atomic uint8_t *mark = &work->result->marks[block];
	uint8_t had = atomic_load_explicit(mark, memory_order_relaxed), bits;

	if (had & TRACE_BY_START)
		return;
	if (word == b->addr) {
		bits = TRACE_BY_START | TRACE_DEFINITE;
	} else {
		enum reach_heuristic h = heuristics_find(work->input, w->scanner.reader,
							 work->opts->heuristics, b, word);

		bits = h ? TRACE_DEFINITE | TRACE_HEURISTIC(h) : TRACE_INSIDE;
	}
	if ((had & bits) == bits)
		return;
	had = atomic_fetch_or_explicit(mark, bits, memory_order_relaxed);
	if (bits & ~had & TRACE_DEFINITE)
		list_push(&w->blocks, work->result->next, block);
}

static void mark_possible(struct worker *w, uint32_t block)
{
	_Atomic uint8_t *mark = &w->work->result->marks[block];

	if (atomic_load_explicit(mark, memory_order_relaxed) & (TRACE_DEFINITE | TRACE_POSSIBLE))
		return;
	if (!(atomic_fetch_or_explicit(mark, TRACE_POSSIBLE, memory_order_relaxed) &
	      TRACE_POSSIBLE))
		list_push(&w->blocks, w->work->result->next, block);
}

static void mark_block(void *ctx, uint32_t block, uint64_t word)
{
	struct worker *w = ctx;

	if (w->work->definite)
		mark_definite(w, block, word);
	else
		mark_possible(w, block);
}

static void stop_work(struct work *work)
{
	pthread_mutex_lock(&work->lock);
	atomic_store(&work->stop, true);
	pthread_cond_broadcast(&work->more);
	pthread_mutex_unlock(&work->lock);
}

static void look_at_clock(struct worker *w)
{
	uint64_t deadline = w->work->opts->deadline_ns;

	if (deadline && clock_monotonic_ns() >= deadline)
		stop_work(w->work);
}

static void share_large_block(struct work *work, uint32_t block)
{
	uint64_t start = work->input->blocks[block].addr;
	uint64_t end = block_index_end(work->index, block);
	int r;

	pthread_mutex_lock(&work->lock);
	r = vec_push(&work->ranges, (struct range){ .range = { start, end, 0 }, .block = block });
	pthread_cond_broadcast(&work->more);
	pthread_mutex_unlock(&work->lock);
	if (r) {
		atomic_store(&work->error, r);
		stop_work(work);
	}
}

static void look_through_block(struct worker *w, uint32_t block)
{
	const struct work *work = w->work;
	uint64_t start = work->input->blocks[block].addr;
	uint64_t end = block_index_end(work->index, block);

	if (end - start > LARGE_BLOCK) {
		share_large_block(w->work, block);
		return;
	}
	if (w->looks++ % LOOKS_AT_CLOCK == 0 || end - start > PIECE / LOOKS_AT_CLOCK)
		look_at_clock(w);
	scanner_block_part(&w->scanner, block, start, end);
}

static struct range next_piece(struct work *work)
{
	struct range *last = &work->ranges.data[work->ranges.len - 1], piece = *last;

	if (piece.range.end - piece.range.start > PIECE)
		piece.range.end = piece.range.start + PIECE;
	last->range.start = piece.range.end;
	if (last->range.start >= last->range.end)
		work->ranges.len--;
	return piece;
}

static void look_through_piece(struct worker *w, const struct range *piece, uint64_t end)
{
	const struct reach_range *r = &piece->range;
	struct reach_range whole = { r->start, end, r->flags };

	look_at_clock(w);
	if (piece->block == BLOCK_NONE)
		scanner_root_part(&w->scanner, &whole, r->start, r->end);
	else
		scanner_block_part(&w->scanner, piece->block, r->start, r->end);
}

/* Blocks, a piece of a range (true, with where the range ends), or false: nothing is left. */
static bool next_work(struct worker *w, struct range *ret_piece, uint64_t *ret_end)
{
	struct work *work = w->work;
	bool piece = false;

	pthread_mutex_lock(&work->lock);
	atomic_fetch_add(&work->idle, 1);
	while (!work->blocks.len && !work->ranges.len && !work->finished &&
	       !atomic_load(&work->stop)) {
		if (atomic_load(&work->idle) == work->threads) {
			work->finished = true;
			pthread_cond_broadcast(&work->more);
		} else {
			pthread_cond_wait(&work->more, &work->lock);
		}
	}
	atomic_fetch_sub(&work->idle, 1);
	if (work->blocks.len) {
		list_move(&w->blocks, &work->blocks, work->result->next, SHARE);
	} else if (work->ranges.len) {
		*ret_end = work->ranges.data[work->ranges.len - 1].range.end;
		*ret_piece = next_piece(work);
		piece = true;
	}
	pthread_mutex_unlock(&work->lock);
	return piece;
}

static void share_work(struct worker *w)
{
	struct work *work = w->work;

	if (w->blocks.len < 2 || !atomic_load_explicit(&work->idle, memory_order_relaxed))
		return;
	pthread_mutex_lock(&work->lock);
	list_move(&work->blocks, &w->blocks, work->result->next,
		  w->blocks.len / 2 < SHARE ? w->blocks.len / 2 : SHARE);
	pthread_cond_signal(&work->more);
	pthread_mutex_unlock(&work->lock);
}

static void *work_on(void *arg)
{
	struct worker *w = arg;
	struct work *work = w->work;

	while (!atomic_load_explicit(&work->stop, memory_order_relaxed)) {
		struct range piece;
		uint64_t end;

		if (w->blocks.len) {
			look_through_block(w, list_pop(&w->blocks, work->result->next));
			share_work(w);
		} else if (next_work(w, &piece, &end)) {
			look_through_piece(w, &piece, end);
		} else if (!w->blocks.len) {
			break;
		}
	}
	return NULL;
}

static int run_threads(struct work *work, struct worker *workers, unsigned int n)
{
	unsigned int started = 1;

	work->threads = 1;
	work->finished = false;
	for (; started < n; started++) {
		pthread_mutex_lock(&work->lock);
		work->threads++;
		pthread_mutex_unlock(&work->lock);
		if (pthread_create(&workers[started].thread, NULL, work_on, &workers[started]))
			break;
	}
	if (started < n) { /* the others do it */
		pthread_mutex_lock(&work->lock);
		work->threads--;
		pthread_cond_broadcast(&work->more);
		pthread_mutex_unlock(&work->lock);
	}
	work_on(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	return atomic_load(&work->error);
}

static int begin_definite(struct work *work, struct worker *w)
{
	const struct reach_input *in = work->input;

	work->definite = true;
	for (size_t i = 0; i < in->n_roots; i++)
		if (in->roots[i].start < in->roots[i].end &&
		    vec_push(&work->ranges, (struct range){ in->roots[i], BLOCK_NONE }))
			return -ENOMEM;
	for (size_t i = 0; i < in->n_words; i++)
		scanner_word(&w->scanner, in->words[i]);
	for (uint32_t i = 0; i < in->n_blocks; i++)
		if (in->blocks[i].flags & REACH_BLOCK_ROOT)
			mark_definite(w, i, in->blocks[i].addr);
	return 0;
}

static void begin_possible(struct work *work, struct worker *w)
{
	work->definite = false;
	for (uint32_t i = 0; i < work->input->n_blocks; i++)
		if (work->result->marks[i] & TRACE_INSIDE)
			mark_possible(w, i);
}

static int run_passes(struct work *work, struct worker *workers, unsigned int n)
{
	int r = begin_definite(work, &workers[0]);

	if (!r)
		r = run_threads(work, workers, n);
	if (!r && !atomic_load(&work->stop)) {
		begin_possible(work, &workers[0]);
		r = run_threads(work, workers, n);
	}
	return r;
}

int trace_blocks(const struct reach_input *input, const struct reach_opts *opts,
		 const struct block_index *index, struct trace_result *result)
{
	unsigned int n = opts->threads ? opts->threads : 1;
	_cleanup_free_ struct worker *workers = calloc(n, sizeof(*workers));
	struct work work = { .input = input, .opts = opts, .index = index, .result = result };
	int r = 0;

	if (!workers)
		return -ENOMEM;
	pthread_mutex_init(&work.lock, NULL);
	pthread_cond_init(&work.more, NULL);
	for (unsigned int i = 0; i < n && !r; i++) {
		workers[i].work = &work;
		r = scanner_init(&workers[i].scanner, input, opts, index);
		workers[i].scanner.found = mark_block;
		workers[i].scanner.ctx = &workers[i];
	}
	if (!r)
		r = run_passes(&work, workers, n);
	for (unsigned int i = 0; i < n; i++) {
		scanner_counts_add(&result->counts, &workers[i].scanner.counts);
		scanner_done(&workers[i].scanner);
	}
	result->cut = atomic_load(&work.stop);
	vec_done(&work.ranges);
	pthread_cond_destroy(&work.more);
	pthread_mutex_destroy(&work.lock);
	return r;
}
