// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_calls.h"

#include "sample/book_clock.h"
#include "sample/book_errors.h"
#include "sample/book_forks.h"
#include "sample/book_frees.h"
#include "sample/book_sites.h"
#include "sample/book_stacks.h"
#include "sample/book_table.h"
#include "sample/book_totals.h"
#include "sample/next.h"

/*
 * So often a thread looks whether anybody reads, by calls that make blocks. A prime: of a loop that
 * makes and frees some, each call comes to be the one of this number.
 */
#define CALLS_UNSEEN 16381

static void count_end(struct book_thread *thread, const struct book_block *block, enum book_end how,
		      uint64_t now_ns)
{
	int64_t bytes = (int64_t)ABI_BOOK_SIZE(block->is.size_fn);
	struct abi_book_site *site =
		book_site(thread, block->is.node, ABI_BOOK_FN(block->is.size_fn));
	uint32_t epoch = book_peak_epoch();

	if (!site)
		return;
	book_site_remove(site, bytes, how, epoch, now_ns);
	book_add_bytes(thread, -bytes, epoch);
}

/* Puts one in, in a larger table if there is need; *ret_stale as book_blocks_add(). */
static bool put_in(struct book_thread *thread, const struct book_block *block,
		   struct book_block *ret_stale)
{
	uint64_t n = book_table.n;

	while (book_blocks_add(&book_table, block, book_is_alone(), ret_stale) == BOOK_FULL) {
		if (!book_table_grow(thread, n)) {
			book_lose(ABI_BOOK_LOST_BLOCKS);
			return false;
		}
		n = book_table.n;
	}
	return true;
}

/* One that had this address has ended without having been seen. */
static BOOK_SELDOM void count_stale(struct book_thread *thread, const struct book_block *stale,
				    uint64_t now_ns)
{
	if (book_is_shared(stale)) {
		book_add_tomb(stale);
		book_lose(ABI_BOOK_LOST_FORK); /* a child may have looked in between */
	}
	count_end(thread, stale, BOOK_FREE_MISSED, now_ns);
}

static bool add_block(struct book_thread *thread, const struct book_block *block, uint64_t now_ns)
{
	struct book_block stale;

	if (!put_in(thread, block, &stale))
		return false;
	if (BOOK_RARELY(stale.address))
		count_stale(thread, &stale, now_ns);
	return true;
}

static void count_begin(struct book_thread *thread, const struct book_block *block, uint64_t now_ns)
{
	int64_t bytes = (int64_t)ABI_BOOK_SIZE(block->is.size_fn);
	struct abi_book_site *site =
		book_site(thread, block->is.node, ABI_BOOK_FN(block->is.size_fn));
	uint32_t epoch;

	if (!site || !add_block(thread, block, now_ns))
		return;
	epoch = book_peak_epoch();
	book_site_add(site, bytes, epoch, now_ns);
	book_add_bytes(thread, bytes, epoch);
	thread->last_block = ~block->address;
}

/* Blocks have left the book whose end is kept beside the counts. */
#define WANTED_OF_FREES (ABI_BOOK_ERRORS | ABI_BOOK_FREES)

static void count_taken(struct book_thread *thread, const struct book_taken *taken, uint64_t now_ns)
{
	count_end(thread, &taken->block, taken->temporary ? BOOK_TEMPORARY : BOOK_FREED, now_ns);
}

/* Blocks that are not entered are in no book. */
static BOOK_SELDOM bool is_untracked(size_t size)
{
	return !abi_block_is_tracked(&book.header->filter, size);
}

/* A block has come that nothing but its caller knows yet. */
static BOOK_SELDOM void note_begin(struct book_thread *thread, const struct book_block *block,
				   uint64_t now_ns, uint32_t wanted)
{
	const struct book_birth birth = { now_ns, thread->shared->tid };

	book_mark_used(&book_local.marks[BOOK_FORM_OF_ALLOCS], ABI_BOOK_FORM(block->is.size_fn));
	if (wanted & ABI_BOOK_FREES)
		book_table_put_birth(block->address, &birth);
}

static BOOK_SELDOM uint32_t form_of_block(struct book_thread *thread, uint32_t function)
{
	bool replaces = function == ABI_BOOK_REALLOC || function == ABI_BOOK_REALLOCARRAY ||
			function == ABI_BOOK_RALLOCX || function == ABI_BOOK_XALLOCX;

	return replaces ? ABI_FORM_OWN :
			  book_mark_form(&book_local.marks[BOOK_FORM_OF_ALLOCS], &thread->walker,
					 book_knows_forms);
}

/* A block has gone; moved_to: what has taken its place, if anything has. */
static BOOK_SELDOM void note_end(struct book_thread *thread, const struct book_taken *taken,
				 uint64_t moved_to, const struct book_free *by, uint32_t wanted)
{
	if (wanted & ABI_BOOK_FREES)
		book_pair_add(thread, &taken->block, &taken->birth, by);
	if (wanted & ABI_BOOK_ERRORS && moved_to != taken->block.address)
		book_freed_add(&taken->block, by);
}

static inline __attribute__((always_inline)) void enter_block(const struct book_taken *old,
							      void *block, size_t size,
							      uint32_t function,
							      const struct walk_registers *from)
{
	struct book_thread *thread = book_come();
	struct book_block added = { .address = (uintptr_t)block };
	uint32_t wanted, form = ABI_FORM_UNKNOWN;
	uint64_t now_ns;

	if (!thread)
		return;
	book_blocks_load(&book_table, added.address);
	wanted = book_wants();
	now_ns = book_call_ns(wanted);
	book_enter_cut();
	if (old)
		count_taken(thread, old, now_ns);
	if (old && BOOK_RARELY(wanted & WANTED_OF_FREES)) {
		const struct book_free by = { function, book_stack(thread, from), now_ns };

		note_end(thread, old, added.address, &by, wanted);
	}
	if (BOOK_RARELY(wanted & ABI_BOOK_SIZES) && is_untracked(size)) {
		book_thread_leave(thread);
		return;
	}
	if (added.address & 7 || added.address >= ABI_ADDR_LIMIT || size >> ABI_BOOK_SIZE_BITS) {
		book_lose(ABI_BOOK_LOST_ADDRESS);
		book_thread_leave(thread);
		return;
	}
	if (BOOK_RARELY(thread->shared->at / 2 % CALLS_UNSEEN == 0))
		book_look_for_reader();
	added.is.tick = book_tick(now_ns);
	added.is.node = book_stack(thread, from);
	if (BOOK_RARELY(wanted & ABI_BOOK_ERRORS))
		form = form_of_block(thread, function);
	added.is.size_fn = ABI_BOOK_SIZE_FN(size, book.header->era, form, function);
	count_begin(thread, &added, now_ns);
	if (BOOK_RARELY(wanted & WANTED_OF_FREES))
		note_begin(thread, &added, now_ns, wanted);
	book_thread_leave(thread);
}

void book_enter(void *block, size_t size, uint32_t function, const struct walk_registers *from)
{
	enter_block(NULL, block, size, function, from);
}

void book_replace(const struct book_taken *old, void *block, size_t size, uint32_t function,
		  const struct walk_registers *from)
{
	enter_block(old, block, size, function, from);
}

/* Before a block is taken out that children may look for. */
static BOOK_SELDOM void bury(uint64_t address)
{
	struct book_block block;

	if (book_blocks_find(&book_table, address, &block) && book_is_shared(&block))
		book_add_tomb(&block);
}

/* A block of before the fork: only one thread can shed it. */
static BOOK_SELDOM bool take_inherited(struct book_thread *thread, uint64_t address,
				       struct book_taken *ret)
{
	struct book_block shed = { .address = address | ABI_BOOK_SHED }, other;

	if (!book.header->parent_era || book_blocks_find(&book_table, shed.address, &other) ||
	    book_find_inherited(thread, address, &ret->block) != BOOK_INHERITED)
		return false;
	shed.is.size_fn = ABI_BOOK_SIZE_FN(0ULL, book.header->era, ABI_FORM_OWN, 0);
	ret->inherited = true;
	return put_in(thread, &shed, &other) && !other.address;
}

static inline bool take(struct book_thread *thread, void *block, uint32_t wanted,
			struct book_taken *ret)
{
	uint64_t address = (uintptr_t)block;

	ret->inherited = false;
	ret->birth.time_ns = 0;
	ret->temporary = thread->last_block == ~address;
	if (ret->temporary)
		thread->last_block = 0;
	if (address & 7)
		return false;
	if (BOOK_RARELY(book.header->era != book.header->ended_forks))
		bury(address);
	if (BOOK_RARELY(wanted & ABI_BOOK_FREES))
		book_table_take_birth(address, &ret->birth);
	return book_blocks_take(&book_table, address, book_is_alone(), &ret->block) ||
	       take_inherited(thread, address, ret);
}

bool book_take(void *block, struct book_taken *ret_taken)
{
	struct book_thread *thread = book_come();
	bool taken;

	if (!thread)
		return false;
	book_blocks_load(&book_table, (uintptr_t)block);
	taken = take(thread, block, book_wants(), ret_taken);
	book_thread_leave(thread);
	return taken;
}

void book_freed(const struct book_taken *taken, uint32_t function,
		const struct walk_registers *from)
{
	struct book_thread *thread = book_come();
	uint32_t wanted;
	uint64_t now_ns;

	if (!thread)
		return;
	wanted = book_wants();
	now_ns = book_call_ns(wanted);
	book_enter_cut();
	count_taken(thread, taken, now_ns);
	if (BOOK_RARELY(wanted & ABI_BOOK_FREES)) {
		const struct book_free by = { function, book_stack(thread, from), now_ns };

		book_pair_add(thread, &taken->block, &taken->birth, &by);
	}
	book_thread_leave(thread);
}

void book_put_back(const struct book_taken *taken)
{
	struct book_thread *thread = book_come();
	struct book_block shed;

	if (!thread)
		return;
	if (taken->inherited)
		(void)book_blocks_take(&book_table, taken->block.address | ABI_BOOK_SHED,
				       book_is_alone(), &shed); /* it is there */
	else if (add_block(thread, &taken->block, book_call_ns(0)) && taken->temporary)
		thread->last_block = ~taken->block.address;
	if (taken->birth.time_ns)
		book_table_put_birth(taken->block.address, &taken->birth);
	book_thread_leave(thread);
}

/* The block that had the address last. */
static bool find_freed(uint32_t kind, uint64_t address, struct book_error *error)
{
	if (kind == ABI_DOUBLE_FREE && book_freed_find(address, &error->about, &error->freed))
		return true;
	return (kind == ABI_DOUBLE_FREE || kind == ABI_MISMATCHED_FREE) &&
	       book_blocks_find(&book_table, address | ABI_BOOK_FREED, &error->about);
}

static void add_error(struct book_thread *thread, uint32_t kind, uint64_t address, size_t size,
		      uint32_t function, const struct walk_registers *from)
{
	struct book_error error = { .kind = kind,
				    .function = function,
				    .node = book_stack(thread, from),
				    .tid = thread->shared->tid,
				    .addr = address,
				    .size = size };

	if (kind == ABI_INVALID_FREE)
		error.about = book_block_around(&book_table, address);
	else if (find_freed(kind, address, &error))
		error.about.address = address;
	else
		error.about.address = 0;
	book_error_add(&error);
}

/* The caller is at the book. */
static BOOK_SELDOM void count_unknown(struct book_thread *thread, uint64_t address,
				      uint32_t function, const struct walk_registers *from)
{
	uint32_t kind;

	if (book_wants() & ABI_BOOK_SIZES)
		return;
	if (book_is_orphan()) {
		book_lose(ABI_BOOK_LOST_FORK);
		return;
	}
	__atomic_fetch_add(&book.header->unknown_frees, 1, __ATOMIC_RELAXED);
	if (!book_is_complete()) {
		book_lose(ABI_BOOK_LOST_UNKNOWN);
		return;
	}
	kind = book_error_of_unknown(&book_table, address);
	if (kind)
		add_error(thread, kind, address, 0, function, from);
}

/* Of the free whose caller's stack was walked last: its mark is done with. */
static uint32_t form_of_free(struct book_thread *thread)
{
	struct book_mark *mark = &book_local.marks[BOOK_FORM_OF_FREES];
	uint32_t form = book_mark_form(mark, &thread->walker, book_knows_forms);

	book_mark_used(mark, form);
	return form;
}

BOOK_SELDOM void book_freed_nothing(const struct walk_registers *from)
{
	struct book_thread *thread = book_come();

	if (!thread)
		return;
	walk(&thread->walker, from);
	(void)form_of_free(thread); /* there is no block to go with */
	book_thread_leave(thread);
}

/* A block was freed by the program, by a form that its own may not go with. */
static BOOK_SELDOM void note_free(struct book_thread *thread, const struct book_taken *taken,
				  uint32_t function, const struct walk_registers *from,
				  uint64_t now_ns, uint32_t wanted)
{
	const struct book_free by = { function, book_stack(thread, from), now_ns };
	uint64_t size_fn = taken->block.is.size_fn;
	uint32_t form = wanted & ABI_BOOK_ERRORS ? form_of_free(thread) : ABI_FORM_UNKNOWN;

	if (book_is_mismatched(ABI_BOOK_FORM(size_fn), ABI_BOOK_FN(size_fn), form, function)) {
		const struct book_error error = { .kind = ABI_MISMATCHED_FREE,
						  .function = function,
						  .node = by.node,
						  .tid = thread->shared->tid,
						  .addr = taken->block.address,
						  .about = taken->block };

		book_error_add(&error);
	}
	note_end(thread, taken, 0, &by, wanted);
}

void book_free(void *block, uint32_t function, const struct walk_registers *from)
{
	struct book_thread *thread = book_come();
	struct book_taken taken;
	uint32_t wanted;
	uint64_t now_ns;

	if (!thread)
		return;
	book_blocks_load(&book_table, (uintptr_t)block);
	wanted = book_wants();
	now_ns = book_call_ns(wanted);
	book_enter_cut();
	if (take(thread, block, wanted, &taken)) {
		count_taken(thread, &taken, now_ns);
		if (BOOK_RARELY(wanted & WANTED_OF_FREES))
			note_free(thread, &taken, function, from, now_ns, wanted);
	} else if (!next_first_block_size(block)) {
		count_unknown(thread, (uintptr_t)block, function, from);
	}
	book_thread_leave(thread);
}

BOOK_SELDOM void book_mark(uint32_t form, enum book_form_of which,
			   const struct walk_registers *from)
{
	struct book_thread *thread = book_come();

	if (!thread)
		return;
	walk(&thread->walker, from);
	book_mark_add(&book_local.marks[which], &thread->walker, form);
	book_thread_leave(thread);
}

BOOK_SELDOM void book_unknown_free(void *block, uint32_t function,
				   const struct walk_registers *from)
{
	struct book_thread *thread = book_come();

	if (!thread)
		return;
	count_unknown(thread, (uintptr_t)block, function, from);
	book_thread_leave(thread);
}

BOOK_SELDOM void book_wrong_request(uint32_t kind, void *replaced, size_t size, uint32_t function,
				    const struct walk_registers *from)
{
	struct book_thread *thread = book_come();

	if (!thread)
		return;
	add_error(thread, kind, (uintptr_t)replaced, size, function, from);
	book_thread_leave(thread);
}

static void count_failed(int64_t n)
{
	__atomic_fetch_add(&book.header->failed, (uint64_t)n, __ATOMIC_RELAXED);
}

BOOK_SELDOM void book_failed(size_t size, uint32_t function, const struct walk_registers *from)
{
	count_failed(1);
	if (from)
		book_wrong_request(ABI_FAILED_ALLOCATION, NULL, size, function, from);
}

void book_may_fail(void)
{
	struct book_thread *thread = book_this_thread();

	if (thread)
		thread->shared->failing++;
}

/* A child has none of what was begun before its fork. */
static bool takes_failing(void)
{
	struct book_thread *thread = book_this_thread();

	if (!thread || !thread->shared->failing)
		return false;
	thread->shared->failing--;
	return true;
}

void book_may_fail_no_more(void)
{
	(void)takes_failing(); /* or it is a child's */
}

BOOK_SELDOM void book_was_left(void)
{
	if (takes_failing())
		count_failed(1);
}

BOOK_SELDOM void book_was_not_left(void)
{
	if (book_this_thread())
		count_failed(-1);
}

BOOK_SELDOM enum walk_meeting book_find_call(const struct book_call *call,
					     const struct walk_registers *from)
{
	struct book_thread *thread = book_come();
	enum walk_meeting meeting;

	if (!thread)
		return WALK_IS_CUT;
	meeting = walk_meets(&thread->walker, from, call->sp, call->pc);
	book_thread_leave(thread);
	if (meeting == WALK_IS_CUT)
		book_lose(ABI_BOOK_LOST_NESTED);
	return meeting;
}
