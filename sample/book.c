// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book.h"

#include "sample/book_blocks.h"
#include "sample/book_errors.h"
#include "sample/book_forks.h"
#include "sample/book_sites.h"
#include "sample/book_stacks.h"
#include "sample/book_totals.h"
#include "sample/next.h"
#include "sample/probes.h"
#include "sample/walk_rules.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of Linux 5.14 (include/uapi/asm-generic/mman-common.h). */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
/* Of Linux 6.1. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* How long a thread waits for the daemon to open the book. */
#define ANSWER_S 2

/* Until there is a page that fork clears. */
static struct book_process no_process;

struct book_process *book_process = &no_process;
bool book_stays;
__thread struct book_local book_local;

static struct book_blocks blocks;
static uint32_t generations, process_lock;
/* At the last fork: a child's first calls are then waited for, too. */
static bool was_read;

/* Absent where the C library is not glibc. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *object) __attribute__((weak));

/* --- the process ------------------------------------------------------------------------------ */

static bool map_process(void)
{
	struct book_process *page;

	if (book_process != &no_process)
		return true;
	page = book_pages(sizeof(*page));
	if (!page || madvise(page, sizeof(*page), MADV_WIPEONFORK))
		return false;
	book_process = page;
	return true;
}

/* Tells the daemon, and waits until it has the book open; without one nobody waits. */
static void announce(int fd)
{
	const struct timespec limit = { .tv_sec = ANSWER_S };
	uint32_t *answer = fd < 0 ? NULL : &book.header->answer;

	memtraced_book(fd, fd < 0 ? 0 : ABI_BOOK_BYTES);
	/* Who hears it may trace others; a book that stays can be found later. */
	if (!answer || !probe_book_is_heard() || (book_stays && !was_read))
		return;
	if (__atomic_load_n(answer, __ATOMIC_ACQUIRE) == ABI_BOOK_UNANSWERED)
		(void)syscall(SYS_futex, answer, FUTEX_WAIT, ABI_BOOK_UNANSWERED, &limit, NULL,
			      0); /* that long, or until it is answered */
}

/* Is the next allocator one all of whose entries are known? Then what none has given is wrong. */
static bool is_complete(void)
{
	static int known;

	if (!known)
		known = next_is_of_glibc() ? 1 : -1;
	return known > 0;
}

static void before_fork(void);
static void after_fork(void);

/* Once, as children have it from their parents. */
static void watch_forks(void)
{
	static bool watched;

	if (!watched && __register_atfork)
		watched = __register_atfork(before_fork, after_fork, NULL, NULL) == 0;
}

/* Calls are passed on for good: whoever has it open, or finds it, is told. */
static enum book_state cease(void)
{
	__atomic_store_n(&book.header->passed_on, 1, __ATOMIC_RELEASE);
	return BOOK_REFUSED;
}

/* Which glibc 2 it is; 0: it is another C library. */
static uint32_t glibc_minor(void)
{
	const char *(*get_version)(void) =
		(const char *(*)(void))next_look_up(RTLD_DEFAULT, "gnu_get_libc_version");
	const char *version = get_version ? get_version() : "";
	uint32_t minor = 0;

	if (strncmp(version, "2.", 2) != 0)
		return 0;
	for (version += 2; *version >= '0' && *version <= '9'; version++)
		minor = minor * 10 + (uint32_t)(*version - '0');
	return minor;
}

#define GLIBC_WITH_FIND_OBJECT 35

/*
 * A glibc does not start a program with references to what it has not. Nor is that looked up:
 * before libpthread.so.0 has begun, which was a library until 2.33, the text of the error is made
 * with a lock that stays held (nptl/pthread_rwlock_common.c takes a thread without an id for its
 * writer).
 */
static bool find_in_libc(void)
{
	if (glibc_minor() < GLIBC_WITH_FIND_OBJECT)
		return false;
	book_single_threaded = next_look_up(RTLD_DEFAULT, "__libc_single_threaded");
	return book_single_threaded &&
	       walk_rules_begin((walk_find_object *)next_look_up(RTLD_DEFAULT, "_dl_find_object"));
}

static enum book_state begin(void)
{
	static bool found;
	int fd = -1;

	generations++;
	found = found || find_in_libc(); /* a child has it from its parent */
	if (found && map_process())
		fd = book_map();
	if (fd < 0) {
		announce(-1);
		return BOOK_REFUSED;
	}
	book_threads_begin();
	book_stacks_begin();
	book_errors_begin();
	book_totals_begin();
	book_blocks_use(&blocks, book.buckets, 0);
	book_forks_begin(fd);
	watch_forks();
	(void)is_complete(); /* found out now: later it may wait for a thread in dlopen() */
	book.header->version = ABI_BOOK_VERSION;
	book.header->pid = (uint32_t)getpid();
	book.header->stays = book_stays;
	__atomic_store_n(&book.header->magic, ABI_BOOK_MAGIC, __ATOMIC_RELEASE);
	announce(fd);
	(void)close(fd); /* it is mapped */
	return book.header->answer == ABI_BOOK_UNREAD && !book_stays ? cease() : BOOK_KEPT;
}

/*
 * By the first thread that comes; another one that comes meanwhile waits for it. A child has its
 * parent's lock, as it was at the fork: it is its own from then on.
 */
static BOOK_SELDOM void decide(void)
{
	static pid_t holder;
	pid_t pid = getpid();
	enum book_state state;

	if (holder != pid) {
		holder = pid;
		process_lock = 0;
	}
	if (!book_lock(&process_lock))
		return;
	if (book_process->state == BOOK_NONE) {
		state = begin();
		book_process->generation = generations;
		__atomic_store_n(&book_process->state, state, __ATOMIC_RELEASE);
	}
	book_unlock(&process_lock);
}

bool book_is_kept(void)
{
	struct book_local *local = &book_local;
	int error = errno;

	/* A handler of a signal that has come while this thread decides is not counted. */
	if (__atomic_load_n(&book_process->state, __ATOMIC_ACQUIRE) == BOOK_NONE &&
	    !local->decides) {
		local->decides = true;
		decide();
		local->decides = false;
		errno = error;
	}
	return book_process->state == BOOK_KEPT;
}

/* --- threads ---------------------------------------------------------------------------------- */

static BOOK_SELDOM struct book_thread *begin_thread(void)
{
	struct book_local *local = &book_local;

	local->generation = book_process->generation;
	local->thread = book_thread_new();
	return local->thread;
}

/* The calling thread; NULL (counted): there is no book, or no room. */
static inline struct book_thread *this_thread(void)
{
	struct book_local *local = &book_local;

	if (BOOK_RARELY(book_process->state != BOOK_KEPT) && !book_is_kept())
		return NULL;
	if (BOOK_RARELY(local->generation != book_process->generation))
		return begin_thread();
	return local->thread;
}

/* Begins a change of the book; NULL (counted): it cannot be made. */
static inline struct book_thread *enter(void)
{
	struct book_thread *thread = this_thread();

	return thread && book_thread_enter(thread) ? thread : NULL;
}

static void leave(struct book_thread *thread)
{
	book_thread_leave(thread);
}

/* --- the reader ------------------------------------------------------------------------------- */

/* So often a thread looks whether anybody reads. */
#define CALLS_UNSEEN 16384
/* So long the daemon has told of no time before it is looked for: it may be stopped. */
#define SILENCE_S 2

/* Nobody reads it any more. */
static void end_reading(void)
{
	uint32_t read = ABI_BOOK_READ;

	if (book_stays) /* another one may have come meanwhile */
		(void)__atomic_compare_exchange_n(&book.header->answer, &read, ABI_BOOK_UNANSWERED,
						  false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&book_process->state, cease(), __ATOMIC_RELEASE);
}

/* Nothing tells of the end of a daemon that was killed but its pid, and that its clock stands. */
static BOOK_SELDOM void look_for_reader(void)
{
	static struct {
		uint32_t tick;
		time_t since;
	} seen;
	const struct abi_book_header *header = book.header;
	int error = errno;
	struct timespec now;

	if (header->answer == ABI_BOOK_UNANSWERED || clock_gettime(CLOCK_MONOTONIC_COARSE, &now))
		return;
	if (seen.tick != header->tick) {
		seen.tick = header->tick;
		seen.since = now.tv_sec;
	} else if (header->answer == ABI_BOOK_UNREAD ||
		   (now.tv_sec - seen.since > SILENCE_S && !book_is_filtered() &&
		    syscall(SYS_kill, header->reader, 0) && errno == ESRCH)) {
		end_reading();
	}
	errno = error;
}

/* --- forks ------------------------------------------------------------------------------------ */

static bool is_prepared;

/* What a child without a book has of its parent's fork is for its own children. */
static void before_fork(void)
{
	int error = errno;

	is_prepared = book_process->state == BOOK_KEPT;
	was_read = is_prepared && book.header->answer == ABI_BOOK_READ;
	if (is_prepared)
		book_forks_prepare(enter());
	errno = error;
}

/* In the parent, whether there is a child or not. */
static void after_fork(void)
{
	struct book_thread *mine;

	if (!is_prepared)
		return;
	mine = book_forks_done();
	if (mine)
		leave(mine);
}

/* --- growing ---------------------------------------------------------------------------------- */

/*
 * All of its pages are about to be written; one by one that takes three times as long as huge pages
 * do, and more in each access to them.
 */
static void make_pages(struct abi_book_bucket *first, uint64_t n)
{
	const uint64_t step = ABI_BOOK_HUGE_PAGE / sizeof(*first);

	if (book_is_filtered())
		return;
	/* A huge page takes the place of pages, of which there has to be one. */
	for (uint64_t i = 0; i < n && n >= step; i += step)
		__atomic_store_n(&first[i].elsewhere, 0, __ATOMIC_RELAXED);
	if (n < step || madvise(first, n * sizeof(*first), MADV_COLLAPSE))
		(void)madvise(first, n * sizeof(*first), MADV_POPULATE_WRITE);
}

static bool double_blocks(void)
{
	uint32_t *word = &book.header->doublings, doublings = *word;
	uint64_t n = book_blocks_elsewhere(&blocks), n_lost;
	uint32_t *places = book_pages((n + 1) * sizeof(*places));

	if (!places || doublings == ABI_BOOK_DOUBLINGS) {
		book_pages_free(places, (n + 1) * sizeof(*places));
		return false;
	}
	make_pages(blocks.buckets + blocks.n, blocks.n);
	__atomic_store_n(word, doublings | ABI_BOOK_DOUBLES, __ATOMIC_SEQ_CST);
	n_lost = book_blocks_double(&blocks, places);
	__atomic_store_n(word, doublings + 1, __ATOMIC_SEQ_CST);
	book_pages_free(places, (n + 1) * sizeof(*places));
	while (n_lost--)
		book_lose(ABI_BOOK_LOST_BLOCKS);
	return true;
}

/* For more than `n` buckets. */
static BOOK_SELDOM bool grow_blocks(struct book_thread *mine, uint64_t n)
{
	bool grown;

	if (!book_threads_hold(mine))
		return false;
	grown = blocks.n != n || double_blocks();
	book_threads_release();
	return grown;
}

/* --- what calls change ------------------------------------------------------------------------ */

static void count_end(struct book_thread *thread, const struct book_block *block, enum book_end how)
{
	int64_t bytes = (int64_t)ABI_BOOK_SIZE(block->is.size_fn);
	struct abi_book_site *site =
		book_site(thread, block->is.node, ABI_BOOK_FN(block->is.size_fn));
	uint32_t epoch = book_peak_epoch();

	if (!site)
		return;
	book_site_remove(site, bytes, how, epoch);
	book_add_bytes(thread, -bytes, epoch);
}

/* Puts one in, in a larger table if there is need; *ret_stale as book_blocks_add(). */
static bool put_in(struct book_thread *thread, const struct book_block *block,
		   struct book_block *ret_stale)
{
	uint64_t n = blocks.n;

	while (book_blocks_add(&blocks, block, book_is_alone(), ret_stale) == BOOK_FULL) {
		if (!grow_blocks(thread, n)) {
			book_lose(ABI_BOOK_LOST_BLOCKS);
			return false;
		}
		n = blocks.n;
	}
	return true;
}

/* One that had this address has ended without having been seen. */
static BOOK_SELDOM void count_stale(struct book_thread *thread, const struct book_block *stale)
{
	if (book_is_shared(stale)) {
		book_add_tomb(stale);
		book_lose(ABI_BOOK_LOST_FORK); /* a child may have looked in between */
	}
	count_end(thread, stale, BOOK_FREE_MISSED);
}

static bool add_block(struct book_thread *thread, const struct book_block *block)
{
	struct book_block stale;

	if (!put_in(thread, block, &stale))
		return false;
	if (BOOK_RARELY(stale.address))
		count_stale(thread, &stale);
	return true;
}

static void count_begin(struct book_thread *thread, const struct book_block *block)
{
	int64_t bytes = (int64_t)ABI_BOOK_SIZE(block->is.size_fn);
	struct abi_book_site *site =
		book_site(thread, block->is.node, ABI_BOOK_FN(block->is.size_fn));
	uint32_t epoch;

	if (!site || !add_block(thread, block))
		return;
	epoch = book_peak_epoch();
	book_site_add(site, bytes, epoch);
	book_add_bytes(thread, bytes, epoch);
	thread->last_block = ~block->address;
}

/* Not all blocks are entered: those that are in no book are known to none. */
static inline bool is_filtered(void)
{
	return BOOK_RARELY(book.header->min_size | book.header->not_max_size);
}

static void count_taken(struct book_thread *thread, const struct book_taken *taken)
{
	count_end(thread, &taken->block, taken->temporary ? BOOK_TEMPORARY : BOOK_FREED);
}

static inline __attribute__((always_inline)) void enter_block(const struct book_taken *old,
							      void *block, size_t size,
							      uint32_t function,
							      const struct walk_registers *from)
{
	struct book_thread *thread = enter();
	struct book_block added = { .address = (uintptr_t)block };

	if (!thread)
		return;
	book_blocks_load(&blocks, added.address);
	book_enter_cut();
	if (old)
		count_taken(thread, old);
	if (is_filtered() && (size < book.header->min_size || size > ~book.header->not_max_size)) {
		leave(thread);
		return;
	}
	if (added.address & 7 || added.address >= ABI_ADDR_LIMIT || size >> ABI_BOOK_SIZE_BITS) {
		book_lose(ABI_BOOK_LOST_ADDRESS);
		leave(thread);
		return;
	}
	if (BOOK_RARELY(thread->shared->at / 2 % CALLS_UNSEEN == 0))
		look_for_reader();
	added.is.size_fn = ABI_BOOK_SIZE_FN(size, book.header->era, ABI_FORM_OWN, function);
	added.is.tick = __atomic_load_n(&book.header->tick, __ATOMIC_RELAXED);
	added.is.node = book_stack(thread, from);
	count_begin(thread, &added);
	leave(thread);
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

	if (book_blocks_find(&blocks, address, &block) && book_is_shared(&block))
		book_add_tomb(&block);
}

/* A block of before the fork: only one thread can shed it. */
static BOOK_SELDOM bool take_inherited(struct book_thread *thread, uint64_t address,
				       struct book_taken *ret)
{
	struct book_block shed = { .address = address | ABI_BOOK_SHED }, other;

	if (!book.header->parent_era || book_blocks_find(&blocks, shed.address, &other) ||
	    book_find_inherited(thread, address, &ret->block) != BOOK_INHERITED)
		return false;
	shed.is.size_fn = ABI_BOOK_SIZE_FN(0ULL, book.header->era, ABI_FORM_OWN, 0);
	ret->inherited = true;
	return put_in(thread, &shed, &other) && !other.address;
}

static inline bool take(struct book_thread *thread, void *block, struct book_taken *ret)
{
	uint64_t address = (uintptr_t)block;

	ret->inherited = false;
	ret->temporary = thread->last_block == ~address;
	if (ret->temporary)
		thread->last_block = 0;
	if (address & 7)
		return false;
	book_blocks_load(&blocks, address);
	if (BOOK_RARELY(book.header->era != book.header->ended_forks))
		bury(address);
	return book_blocks_take(&blocks, address, book_is_alone(), &ret->block) ||
	       take_inherited(thread, address, ret);
}

bool book_take(void *block, struct book_taken *ret_taken)
{
	struct book_thread *thread = enter();
	bool taken;

	if (!thread)
		return false;
	taken = take(thread, block, ret_taken);
	leave(thread);
	return taken;
}

void book_freed(const struct book_taken *taken)
{
	struct book_thread *thread = enter();

	if (!thread)
		return;
	book_enter_cut();
	count_taken(thread, taken);
	leave(thread);
}

void book_put_back(const struct book_taken *taken)
{
	struct book_thread *thread = enter();
	struct book_block shed;

	if (!thread)
		return;
	if (taken->inherited)
		(void)book_blocks_take(&blocks, taken->block.address | ABI_BOOK_SHED,
				       book_is_alone(), &shed); /* it is there */
	else if (add_block(thread, &taken->block) && taken->temporary)
		thread->last_block = ~taken->block.address;
	leave(thread);
}

static void add_error(struct book_thread *thread, uint32_t kind, uint64_t address, size_t size,
		      uint32_t function, const struct walk_registers *from)
{
	struct book_error error = { .kind = kind,
				    .function = function,
				    .node = book_stack(thread, from),
				    .addr = address,
				    .size = size };

	if (kind == ABI_DOUBLE_FREE &&
	    book_blocks_find(&blocks, address | ABI_BOOK_FREED, &error.about))
		error.about.address = address;
	else if (kind == ABI_INVALID_FREE)
		error.about = book_block_around(&blocks, address);
	else
		error.about.address = 0;
	book_error_add(&error);
}

/* The caller is at the book. */
static BOOK_SELDOM void count_unknown(struct book_thread *thread, uint64_t address,
				      uint32_t function, const struct walk_registers *from)
{
	uint32_t kind;

	if (is_filtered())
		return;
	if (book_is_orphan()) {
		book_lose(ABI_BOOK_LOST_FORK);
		return;
	}
	__atomic_fetch_add(&book.header->unknown_frees, 1, __ATOMIC_RELAXED);
	if (!is_complete()) {
		book_lose(ABI_BOOK_LOST_UNKNOWN);
		return;
	}
	kind = book_error_of_unknown(&blocks, address);
	if (kind)
		add_error(thread, kind, address, 0, function, from);
}

void book_free(void *block, uint32_t function, const struct walk_registers *from)
{
	struct book_thread *thread = enter();
	struct book_taken taken;

	if (!thread)
		return;
	book_enter_cut();
	if (take(thread, block, &taken))
		count_taken(thread, &taken);
	else if (!next_first_block_size(block))
		count_unknown(thread, (uintptr_t)block, function, from);
	leave(thread);
}

BOOK_SELDOM void book_unknown_free(void *block, uint32_t function,
				   const struct walk_registers *from)
{
	struct book_thread *thread = enter();

	if (!thread)
		return;
	count_unknown(thread, (uintptr_t)block, function, from);
	leave(thread);
}

BOOK_SELDOM void book_wrong_request(uint32_t kind, void *replaced, size_t size, uint32_t function,
				    const struct walk_registers *from)
{
	struct book_thread *thread = enter();

	if (!thread)
		return;
	add_error(thread, kind, (uintptr_t)replaced, size, function, from);
	leave(thread);
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
	struct book_thread *thread = this_thread();

	if (thread)
		thread->shared->failing++;
}

/* A child has none of what was begun before its fork. */
static bool takes_failing(void)
{
	struct book_thread *thread = this_thread();

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
	if (this_thread())
		count_failed(-1);
}

BOOK_SELDOM enum walk_meeting book_find_call(const struct book_call *call,
					     const struct walk_registers *from)
{
	struct book_thread *thread = enter();
	enum walk_meeting meeting;

	if (!thread)
		return WALK_IS_CUT;
	meeting = walk_meets(&thread->walker, from, call->sp, call->pc);
	leave(thread);
	if (meeting == WALK_IS_CUT)
		book_lose(ABI_BOOK_LOST_NESTED);
	return meeting;
}
