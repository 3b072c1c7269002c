// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book.h"

#include "sample/book_asks.h"
#include "sample/book_clock.h"
#include "sample/book_errors.h"
#include "sample/book_forks.h"
#include "sample/book_frees.h"
#include "sample/book_stacks.h"
#include "sample/book_table.h"
#include "sample/book_totals.h"
#include "sample/next.h"
#include "sample/probes.h"
#include "sample/walk_rules.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Until there is a page that fork clears. */
static struct book_process no_process;

struct book_process *book_process = &no_process;
bool book_stays, book_knows_forms;
__thread struct book_local book_local;

static uint32_t generations, process_lock;
/* At the last fork: a child's first calls are then waited for, too. */
static bool was_read;
/* A child has it from its parent. */
static bool is_bypassed;

/* Absent where the C library is not glibc. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
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
	static_assert(ABI_BOOK_UNANSWERED == 0, "as a book begins");
	memtraced_book(fd, fd < 0 ? 0 : ABI_BOOK_BYTES);
	/* Who hears it may trace others; a book that stays can be found later. */
	if (fd >= 0 && probe_book_is_heard() && (!book_stays || was_read))
		book_wait_for(&book.header->answer);
}

bool book_is_complete(void)
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
	const char *version = gnu_get_libc_version ? gnu_get_libc_version() : "";
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
		announce(ABI_BOOK_NONE);
		return BOOK_REFUSED;
	}
	book_asks_begin();
	book_threads_begin();
	book_stacks_begin();
	book_errors_begin();
	book_frees_begin();
	book_totals_begin();
	book_table_begin();
	book_forks_begin(fd);
	watch_forks();
	if (is_bypassed)
		book_lose(ABI_BOOK_LOST_BYPASSED);
	(void)book_is_complete(); /* found out now: later it may wait for a thread in dlopen() */
	book.header->version = ABI_BOOK_VERSION;
	book.header->pid = (uint32_t)getpid();
	book.header->stays = book_stays;
	__atomic_store_n(&book.header->magic, ABI_BOOK_MAGIC, __ATOMIC_RELEASE);
	announce(fd);
	book_knows_forms = book.header->wants & ABI_BOOK_ERRORS;
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
	enum book_state state;
	pid_t pid;

	if (book_is_filtered()) {
		announce(ABI_BOOK_NONE);
		__atomic_store_n(&book_process->state, BOOK_REFUSED, __ATOMIC_RELEASE);
		return;
	}
	pid = getpid();
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

BOOK_SELDOM void book_bypass(void)
{
	if (__atomic_exchange_n(&is_bypassed, true, __ATOMIC_RELAXED))
		return;
	if (book_process->state == BOOK_KEPT)
		book_lose(ABI_BOOK_LOST_BYPASSED); /* else as it begins */
}

/* --- threads ---------------------------------------------------------------------------------- */

BOOK_SELDOM struct book_thread *book_begin_thread(void)
{
	struct book_local *local = &book_local;

	local->generation = book_process->generation;
	local->thread = book_thread_new();
	return local->thread;
}

/* --- the reader ------------------------------------------------------------------------------- */

/* So long the daemon has told of no time before it is looked for: it may be stopped. */
#define SILENCE_S 2

/* Nobody reads it any more. */
static void end_reading(void)
{
	uint32_t read = ABI_BOOK_READ;

	/* Another one may have come meanwhile. */
	if (book_stays &&
	    __atomic_compare_exchange_n(&book.header->answer, &read, ABI_BOOK_UNANSWERED, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		__atomic_store_n(&book.header->wants, book_wants() & ABI_BOOK_SIZES,
				 __ATOMIC_RELAXED);
	else if (!book_stays)
		__atomic_store_n(&book_process->state, cease(), __ATOMIC_RELEASE);
}

/* Nothing tells of the end of a daemon that was killed but its pid, and that its clock stands. */
BOOK_SELDOM void book_look_for_reader(void)
{
	static struct {
		uint32_t tick;
		uint64_t since_s;
	} seen;
	const struct abi_book_header *header = book.header;
	uint64_t now_s = book_call_ns(0) / 1000000000;
	int error = errno;

	if (header->answer == ABI_BOOK_UNANSWERED)
		return;
	if (seen.tick != header->tick) {
		seen.tick = header->tick;
		seen.since_s = now_s;
	} else if (header->answer == ABI_BOOK_UNREAD ||
		   (now_s - seen.since_s > SILENCE_S && !book_is_filtered() &&
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
		book_forks_prepare(book_come());
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
		book_thread_leave(mine);
}

/* --- its end ---------------------------------------------------------------------------------- */

BOOK_SELDOM void book_give_up(void)
{
	struct book_thread *mine;

	if (book_process->state != BOOK_KEPT) {
		book_forks_end();
		return;
	}
	mine = book_come();
	if (!mine)
		return;
	if (book_threads_hold(mine)) {
		book_lose(ABI_BOOK_LOST_LIMIT);
		__atomic_store_n(&book_process->state, cease(), __ATOMIC_RELEASE);
		book_forks_end();
		book_unmap();
		book_threads_keep_out();
	}
	book_thread_leave(mine);
}
