// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct book book;

static const char never;
const char *book_single_threaded = &never;

void *book_pages(size_t bytes)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

void *book_pages_double(void *pages, size_t bytes)
{
	void *more =
		book_is_filtered() ? MAP_FAILED : mremap(pages, bytes, 2 * bytes, MREMAP_MAYMOVE);

	if (more != MAP_FAILED)
		return more;
	more = book_pages(2 * bytes);
	if (more)
		memcpy(more, pages, bytes);
	book_pages_free(pages, bytes);
	return more;
}

void book_pages_free(void *pages, size_t bytes)
{
	if (pages)
		(void)munmap(pages, bytes); /* it was mapped */
}

/* Looks in vain at what another thread holds, which may be preempted for long on a busy machine. */
#define SPINS 200
#define YIELDS 20000
#define PAUSES 20000
#define YIELDS_FILTERED 20000000 /* each takes some ten nanoseconds */
#define PAUSE_NS 50000

/* As far as that takes no system call: for the other thread of a core. */
static void let_others_run(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

bool book_wait(uint32_t i)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int error = errno;

	if (i < SPINS)
		return true;
	if (book_is_filtered()) {
		let_others_run();
		return i < YIELDS_FILTERED;
	}
	if (i < YIELDS)
		(void)sched_yield(); /* it cannot fail */
	else if (i < YIELDS + PAUSES)
		(void)nanosleep(&pause, NULL); /* a signal: it looks sooner */
	else
		return false;
	errno = error;
	return true;
}

/* A thread may have ended with it: it is waited for once. */
enum { LOCK_FREE, LOCK_HELD, LOCK_GIVEN_UP };

bool book_lock(uint32_t *lock)
{
	uint32_t was = LOCK_FREE;

	if (book_is_alone()) {
		*lock = LOCK_HELD;
		return true;
	}
	for (uint32_t i = 0; book_wait(i); i++) {
		was = LOCK_FREE;
		if (__atomic_compare_exchange_n(lock, &was, LOCK_HELD, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if (was == LOCK_GIVEN_UP)
			return false;
	}
	if (was == LOCK_HELD)
		(void)__atomic_compare_exchange_n(lock, &was, LOCK_GIVEN_UP, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return false;
}

void book_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, LOCK_FREE, __ATOMIC_RELEASE);
}

BOOK_SELDOM uint32_t book_next_number(uint32_t *begun, uint32_t most)
{
	uint32_t number = __atomic_add_fetch(begun, 1, __ATOMIC_RELAXED);

	if (number < most)
		return number;
	__atomic_store_n(begun, most, __ATOMIC_RELAXED);
	return 0;
}

BOOK_SELDOM void book_lose(enum abi_book_loss loss)
{
	__atomic_fetch_add(&book.header->lost[loss], 1, __ATOMIC_RELAXED);
}

uint32_t book_filters;
static bool first_filter_is_known;

/* The kernel is asked once: that call, too, may be one that a filter does not let pass. */
BOOK_SELDOM bool book_is_filtered(void)
{
	int error = errno;

	if (!book_filters && !first_filter_is_known && prctl(PR_GET_SECCOMP) > 0)
		book_filters++;
	first_filter_is_known = true;
	errno = error;
	return __atomic_load_n(&book_filters, __ATOMIC_RELAXED);
}

pid_t book_thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* What is limited is the program's, and a filter may end it for a call that it does not make. */
static bool limits_allow(void)
{
	struct rlimit file, space;

	/* Longer files end in SIGXFSZ. */
	return getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur >= ABI_BOOK_BYTES &&
	       getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur == RLIM_INFINITY;
}

/* So that its blocks can have huge pages. */
static char *map_aligned(int fd)
{
	const size_t all = ABI_BOOK_MAPPED + ABI_BOOK_HUGE_PAGE;
	char *room = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;
	char *at;

	if (room == MAP_FAILED)
		return MAP_FAILED;
	before = -(uintptr_t)room & (ABI_BOOK_HUGE_PAGE - 1);
	at = mmap(room + before, ABI_BOOK_MAPPED, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
	if (at == MAP_FAILED || mprotect(at + ABI_BOOK_BYTES, ABI_BOOK_FENCE, PROT_NONE)) {
		book_pages_free(room, all);
		return MAP_FAILED;
	}
	if (before)
		book_pages_free(room, before);
	book_pages_free(at + ABI_BOOK_MAPPED, ABI_BOOK_HUGE_PAGE - before);
	return at;
}

void book_unmap(void)
{
	/* It was mapped. */
	(void)munmap((char *)book.header + ABI_BOOK_AT_NODES, ABI_BOOK_MAPPED - ABI_BOOK_AT_NODES);
}

int book_map(void)
{
	int fd = limits_allow() ? (int)syscall(SYS_memfd_create, ABI_BOOK_NAME,
					       MFD_CLOEXEC | MFD_ALLOW_SEALING) :
				  -1;
	char *at;

	if (fd < 0)
		return -1;
	/* fcntl(2) by its number: the C library's has other versions since 2.28. */
	if (ftruncate(fd, ABI_BOOK_BYTES) ||
	    syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		(void)close(fd); /* nothing was written */
		return -1;
	}
	at = map_aligned(fd);
	/* A child that wrote into its parent's book would be worse than none. */
	if (at == MAP_FAILED || madvise(at, ABI_BOOK_MAPPED, MADV_DONTFORK)) {
		(void)close(fd); /* as above */
		return -1;
	}
	(void)madvise(at, ABI_BOOK_MAPPED, MADV_DONTDUMP); /* core dumps are then larger */
	book.header = (struct abi_book_header *)at;
	book.threads = (struct abi_book_thread *)(at + ABI_BOOK_AT_THREADS);
	book.nodes = (struct abi_book_node *)(at + ABI_BOOK_AT_NODES);
	book.sites = (struct abi_book_site *)(at + ABI_BOOK_AT_SITES);
	book.cuts = (struct abi_book_site_cut *)(at + ABI_BOOK_AT_CUTS);
	book.pairs = (struct abi_book_pair *)(at + ABI_BOOK_AT_PAIRS);
	book.freed = (struct abi_book_freed *)(at + ABI_BOOK_AT_FREED);
	book.buckets = (struct abi_book_bucket *)(at + ABI_BOOK_AT_BLOCKS);
	return fd;
}
