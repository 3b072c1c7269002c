// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/book_forks.h"

#include "sample/book_stacks.h"
#include "sample/book_totals.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Generations of forks without exec that are looked up in, as in bpf/block.bpf.h. */
#define MOST_ANCESTORS 6
/* A table that has moved meanwhile is looked up in again. */
#define MOVES 8
/* Tombs of one head that are looked at. */
#define MOST_OF_HEAD 100000

/* A book to be read. */
struct ancestor {
	const char *at;
	uint32_t era; /* from which on its blocks are not this process's */
};

static struct ancestor ancestors[MOST_ANCESTORS]; /* the parent first */
static int n_ancestors;
static const char *own_view; /* of this process's book, for its children */
static uint64_t own_file;    /* its inode */
static bool is_orphan;

/* Of the fork that is under way; a child finds it as it was. */
static struct {
	uint32_t era; /* 0: the child cannot look up anything */
	int64_t live_bytes;
	struct book_thread *mine; /* the thread that forks, */
	bool held;		  /* and holds all others */
} forking;

/* --- views ------------------------------------------------------------------------------------ */

/* Its own open file cannot be written to, so that no child can make the mapping one to write. */
static const char *map_view(int fd)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	void *at = MAP_FAILED;
	int view;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* it is long enough */
	view = open(path, O_RDONLY | O_CLOEXEC);
	if (view >= 0) {
		at = mmap(NULL, ABI_BOOK_BYTES, PROT_READ, MAP_SHARED | MAP_NORESERVE, view, 0);
		(void)close(view); /* it is mapped, or not */
	}
	if (at == MAP_FAILED)
		return NULL;
	(void)madvise(at, ABI_BOOK_BYTES, MADV_DONTDUMP); /* core dumps are then larger */
	return at;
}

static void unmap_view(const char *view)
{
	if (view)
		(void)munmap((void *)(uintptr_t)view, ABI_BOOK_BYTES); /* it was mapped */
}

static void add_ancestor(const char *view, uint32_t era)
{
	if (n_ancestors == MOST_ANCESTORS)
		unmap_view(ancestors[--n_ancestors].at);
	memmove(ancestors + 1, ancestors, (size_t)n_ancestors * sizeof(ancestors[0]));
	ancestors[0] = (struct ancestor){ view, era };
	n_ancestors++;
}

static void drop_ancestors(void)
{
	unmap_view(own_view);
	while (n_ancestors)
		unmap_view(ancestors[--n_ancestors].at);
}

static bool is_in(const char *view, uintptr_t address)
{
	return view && address - (uintptr_t)view < ABI_BOOK_BYTES;
}

bool book_forks_have(uintptr_t address)
{
	bool any = is_in(own_view, address);

	for (int i = 0; i < n_ancestors; i++)
		any = any || is_in(ancestors[i].at, address);
	return any;
}

void book_forks_end(void)
{
	drop_ancestors();
	own_view = NULL;
}

/* Whoever reads the parent asks the child for the same, when it has heard of it. */
static void inherit_wants(const struct abi_book_header *parent)
{
	book.header->filter = parent->filter;
	book.header->wants = parent->wants;
}

void book_forks_begin(int fd)
{
	static bool had_book;
	struct stat st;

	if (forking.era && own_view) {
		add_ancestor(own_view, forking.era);
		inherit_wants((const struct abi_book_header *)(const void *)own_view);
		book.header->parent_era = forking.era;
		book.header->parent_file = own_file;
		book.header->live_bytes = forking.live_bytes;
		book.header->peak_bytes = forking.live_bytes;
	} else {
		drop_ancestors();
		is_orphan = had_book;
	}
	had_book = true;
	memset(&forking, 0, sizeof(forking));
	own_view = map_view(fd);
	/* by its number: the C library's function is one of glibc since 2.33 only (book.c) */
	own_file = syscall(SYS_fstat, fd, &st) == 0 ? st.st_ino : 0;
}

bool book_is_orphan(void)
{
	return is_orphan;
}

/* --- around forks ----------------------------------------------------------------------------- */

/* Nobody looks for any of them. */
static void remove_tombs(void)
{
	char *at = (char *)book.header;
	size_t heads = ABI_BOOK_TOMB_HEADS * sizeof(uint32_t);

	if (!book.header->tombs || book_is_filtered() ||
	    madvise(at + ABI_BOOK_AT_HEADS, heads, MADV_REMOVE))
		return;
	/* Else it keeps its memory. */
	(void)madvise(at + ABI_BOOK_AT_TOMBS, ABI_BOOK_TOMBS * sizeof(struct abi_book_tomb),
		      MADV_REMOVE);
	book.header->tombs = 0;
}

void book_forks_prepare(struct book_thread *mine)
{
	struct abi_book_header *header = book.header;

	memset(&forking, 0, sizeof(forking));
	forking.mine = mine;
	forking.held = mine && book_threads_hold(mine);
	/* Without a reader nobody would say when tombs can go. */
	if (!own_view || header->era + 1 >= ABI_BOOK_ERAS || header->answer != ABI_BOOK_READ)
		return;
	if (forking.held && header->era == header->ended_forks)
		remove_tombs();
	forking.live_bytes = book_live_bytes();
	forking.era = __atomic_add_fetch(&header->era, 1, __ATOMIC_ACQ_REL);
}

struct book_thread *book_forks_done(void)
{
	struct book_thread *mine = forking.mine;

	if (forking.held)
		book_threads_release();
	memset(&forking, 0, sizeof(forking));
	return mine;
}

/* --- tombs ------------------------------------------------------------------------------------ */

static struct abi_book_tomb *tombs_of(const char *at)
{
	return (struct abi_book_tomb *)(uintptr_t)(at + ABI_BOOK_AT_TOMBS);
}

static uint32_t *head_of(const char *at, uint64_t address)
{
	return (uint32_t *)(uintptr_t)(at + ABI_BOOK_AT_HEADS) + ABI_BOOK_TOMB_HEAD(address);
}

/* A realloc that has failed has put its block back, and left the tomb. */
static bool has_tomb(const struct book_block *block, uint32_t newest, uint32_t era)
{
	const struct abi_book_tomb *tomb = tombs_of((const char *)book.header) + newest;

	return newest && tomb->address == block->address && tomb->freed_era == era &&
	       ABI_BOOK_ERA(tomb->block.size_fn) == ABI_BOOK_ERA(block->is.size_fn);
}

void book_add_tomb(const struct book_block *block)
{
	struct abi_book_header *header = book.header;
	uint32_t *head = head_of((const char *)header, block->address), number;
	uint32_t next = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	struct abi_book_tomb *tomb;

	if (has_tomb(block, next, header->era))
		return;
	number = book_next_number(&header->tombs, ABI_BOOK_TOMBS);
	if (!number) {
		book_lose(ABI_BOOK_LOST_FORK);
		return;
	}
	tomb = tombs_of((const char *)header) + number;
	tomb->address = block->address;
	tomb->block = block->is;
	tomb->freed_era = header->era;
	do
		tomb->next = next;
	while (!__atomic_compare_exchange_n(head, &next, number, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE));
}

static bool find_tomb(const struct ancestor *ancestor, uint64_t address,
		      struct book_block *ret_block)
{
	const struct abi_book_tomb *tombs = tombs_of(ancestor->at);
	uint32_t number = __atomic_load_n(head_of(ancestor->at, address), __ATOMIC_ACQUIRE);

	for (int i = 0; i < MOST_OF_HEAD && number && number < ABI_BOOK_TOMBS; i++) {
		const struct abi_book_tomb *tomb = &tombs[number];

		if (tomb->address == address && ancestor->era <= tomb->freed_era &&
		    ABI_BOOK_ERA(tomb->block.size_fn) < ancestor->era) {
			*ret_block = (struct book_block){ address, tomb->block };
			return true;
		}
		number = tomb->next;
	}
	return false;
}

/* --- looking up ------------------------------------------------------------------------------- */

static const struct abi_book_header *header_of(const struct ancestor *ancestor)
{
	return (const struct abi_book_header *)(const void *)ancestor->at;
}

/* In the table of the ancestor's, which may be doubled meanwhile. */
static bool find_live(const struct ancestor *ancestor, uint64_t address,
		      struct book_block *ret_block)
{
	const uint32_t *doublings = &header_of(ancestor)->doublings;
	char *buckets = (char *)(uintptr_t)ancestor->at + ABI_BOOK_AT_BLOCKS;
	struct book_blocks blocks;

	for (int i = 0; i < MOVES; i++) {
		uint32_t before = __atomic_load_n(doublings, __ATOMIC_ACQUIRE);

		if ((before & ~ABI_BOOK_DOUBLES) > ABI_BOOK_DOUBLINGS)
			return false;
		book_blocks_use(&blocks, (struct abi_book_bucket *)(void *)buckets, before);
		if (book_blocks_find(&blocks, address, ret_block))
			return true;
		if (__atomic_load_n(doublings, __ATOMIC_ACQUIRE) == before)
			return false;
	}
	return false;
}

static bool is_older(const struct book_block *block, uint32_t era)
{
	return ABI_BOOK_ERA(block->is.size_fn) < era;
}

/* The table first and tombs afterwards: a block that is in neither was not there before. */
static bool find_at(const struct ancestor *ancestor, uint64_t address, struct book_block *ret_block)
{
	struct book_block live;
	bool is_live = find_live(ancestor, address, &live) && is_older(&live, ancestor->era);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (find_tomb(ancestor, address, ret_block))
		return true;
	*ret_block = live;
	return is_live;
}

enum book_origin book_find_inherited(struct book_thread *thread, uint64_t address,
				     struct book_block *ret_block)
{
	struct book_block shed;

	for (int i = 0; i < n_ancestors; i++) {
		const struct ancestor *ancestor = &ancestors[i];
		const char *nodes = ancestor->at + ABI_BOOK_AT_NODES;

		if (find_at(ancestor, address, ret_block)) {
			ret_block->is.node =
				book_stack_of(thread,
					      (const struct abi_book_node *)(const void *)nodes,
					      ret_block->is.node);
			return BOOK_INHERITED;
		}
		/* It has inherited the block, and freed it before the fork. */
		if (find_live(ancestor, address | ABI_BOOK_SHED, &shed) &&
		    is_older(&shed, ancestor->era))
			return BOOK_UNKNOWN;
	}
	return BOOK_UNKNOWN;
}
