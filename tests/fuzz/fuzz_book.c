/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A book whose contents the input describes: what is written where, each as a table u8, an entry
 * u32 and so many bytes u8 of it. The entry is one of those that are read, or with FAR_ENTRY any
 * one. What is read keeps what book_read.h promises.
 */
#include "trace/books/book.h"

#include "base/clock.h"
#include "bpf/abi_unwind.h"
#include "trace/books/book_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CUT 2
#define FAR_ENTRY (UINT32_C(1) << 31)

static const struct book_request all = {
	.filter = { .max_size = UINT64_MAX },
	.wants = ABI_BOOK_ERRORS | ABI_BOOK_FREES | ABI_BOOK_CLOCK,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct table {
	uint64_t at;
	uint32_t n_read, entries;
	size_t entry_size;
};

/* Few are read: reading takes time in proportion. The header says of how many. */
enum {
	THREADS_READ = 8,
	NODES_READ = 64,
	SITES_READ = 32,
	ERRORS_READ = 4,
	TOMBS_READ = 16,
	PAIRS_READ = 16,
	ROWS_READ = 3
};

static const struct table tables[] = {
	{ ABI_BOOK_AT_THREADS, THREADS_READ + 1, ABI_BOOK_THREADS, sizeof(struct abi_book_thread) },
	{ ABI_BOOK_AT_NODES, NODES_READ, ABI_BOOK_NODES, sizeof(struct abi_book_node) },
	{ ABI_BOOK_AT_SITES, SITES_READ + 1, ABI_BOOK_SITES, sizeof(struct abi_book_site) },
	{ ABI_BOOK_AT_CUTS, SITES_READ + 1, ABI_BOOK_SITES, sizeof(struct abi_book_site_cut) },
	{ ABI_BOOK_AT_BLOCKS, ABI_BOOK_BUCKETS(0), ABI_BOOK_BUCKETS(ABI_BOOK_DOUBLINGS),
	  sizeof(struct abi_book_bucket) },
	{ 0, 1, 1, sizeof(struct abi_book_header) },
	{ ABI_BOOK_AT_ERRORS, ERRORS_READ, ABI_BOOK_ERRORS, sizeof(struct abi_book_error) },
	{ ABI_BOOK_AT_TOMBS, TOMBS_READ + 1, ABI_BOOK_TOMBS, sizeof(struct abi_book_tomb) },
	{ ABI_BOOK_AT_GONE, ROWS_READ, ABI_BOOK_GONE, sizeof(struct abi_book_gone) },
	{ ABI_BOOK_AT_PAIRS, PAIRS_READ + 1, ABI_BOOK_PAIRS, sizeof(struct abi_book_pair) },
	{ ABI_BOOK_AT_FREED, 64, ABI_FREED_BLOCKS, sizeof(struct abi_book_freed) },
	{ ABI_BOOK_AT_OBJECTS, ROWS_READ + 1, ABI_BOOK_OBJECTS, sizeof(uint64_t) },
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void put(int fd, uint64_t at, const void *bytes, size_t n)
{
	if (pwrite(fd, bytes, n, (off_t)at) != (ssize_t)n)
		abort();
}

static uint64_t entry_place(const struct table *table, uint32_t entry)
{
	entry = entry & FAR_ENTRY ? (entry & ~FAR_ENTRY) % table->entries : entry % table->n_read;
	return table->at + (uint64_t)entry * table->entry_size;
}

static void write_book(int fd, const uint8_t *data, size_t size)
{
	const struct abi_book_header header = { .magic = ABI_BOOK_MAGIC,
						.version = ABI_BOOK_VERSION,
						.threads = THREADS_READ,
						.nodes = NODES_READ,
						.sites = SITES_READ,
						.errors = ERRORS_READ,
						.tombs = TOMBS_READ,
						.gone = ROWS_READ,
						.loaded = ROWS_READ,
						.pairs = PAIRS_READ };

	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)ABI_BOOK_BYTES))
		abort();
	put(fd, 0, &header, sizeof(header));
	while (size > 6) {
		const struct table *table = &tables[data[0] % TABLES];
		uint32_t entry;
		size_t n = data[5];

		memcpy(&entry, data + 1, sizeof(entry));
		data += 6;
		size -= 6;
		if (n > size)
			n = size;
		if (n > table->entry_size)
			n = table->entry_size;
		put(fd, entry_place(table, entry), data, n);
		data += n;
		size -= n;
	}
	/* Else nothing is read at all. */
	put(fd, 0, &header, 2 * sizeof(uint32_t));
}

static void check_stack(struct book *book, uint32_t node)
{
	struct book_stack stack;

	if (book_read_stack(book, node, ABI_MAX_FRAMES, &stack))
		return;
	if (stack.n > ABI_MAX_FRAMES || stack.cut >= ABI_CUTS)
		abort();
	for (size_t i = 0; i < stack.n; i++)
		if (!stack.frame[i])
			abort();
}

/* For the sanitizer: what is told can be added up. */
static int64_t sum_of_all;

static int on_site(const struct book_site *site, void *userdata)
{
	sum_of_all += site->counts.live_bytes + site->counts.live_blocks + site->peak_bytes;
	if (site->node >= ABI_BOOK_NODES || !site->function || site->function >= ABI_BOOK_FUNCTIONS)
		abort();
	check_stack(userdata, site->node);
	return 0;
}

static int on_block(const struct book_block *block, void *userdata)
{
	if (!block->address || block->address >= ABI_ADDR_LIMIT || block->address & 7 ||
	    block->size >> ABI_SIZE_BITS || block->node >= ABI_BOOK_NODES ||
	    block->form > ABI_FORM_MASK)
		abort();
	if (!block->is_shed && (!block->function || block->function >= ABI_BOOK_FUNCTIONS))
		abort();
	check_stack(userdata, block->node);
	return 0;
}

static int on_error(const struct book_error *error, void *userdata)
{
	if (error->node >= ABI_BOOK_NODES || !error->function ||
	    error->function >= ABI_BOOK_FUNCTIONS || !error->kind ||
	    error->block.node >= ABI_BOOK_NODES || error->block.function >= ABI_BOOK_FUNCTIONS ||
	    error->freed_node >= ABI_BOOK_NODES || error->freed_function >= ABI_BOOK_FUNCTIONS)
		abort();
	check_stack(userdata, error->node);
	check_stack(userdata, error->freed_node);
	return 0;
}

static int on_freed(const struct book_freed *freed, void *userdata)
{
	const struct book_block *block = &freed->block;

	if (!block->address || block->address >= ABI_ADDR_LIMIT || block->node >= ABI_BOOK_NODES ||
	    !block->function || block->function >= ABI_BOOK_FUNCTIONS ||
	    freed->node >= ABI_BOOK_NODES || !freed->function ||
	    freed->function >= ABI_BOOK_FUNCTIONS)
		abort();
	check_stack(userdata, block->node);
	check_stack(userdata, freed->node);
	return 0;
}

static int on_pair(const struct book_pair *pair, void *userdata)
{
	const struct abi_free_pair *counts = &pair->counts;

	sum_of_all += (int64_t)counts->bytes + (int64_t)counts->count;
	if (pair->node >= ABI_BOOK_NODES || pair->free_node >= ABI_BOOK_NODES || !pair->function ||
	    pair->function >= ABI_BOOK_FUNCTIONS || !pair->free_function ||
	    pair->free_function >= ABI_BOOK_FUNCTIONS || !counts->count ||
	    counts->unknown > counts->count || counts->others > counts->count)
		abort();
	for (size_t i = 0; i < ABI_LIFETIMES; i++)
		if (counts->lifetimes[i] > counts->count)
			abort();
	check_stack(userdata, pair->node);
	check_stack(userdata, pair->free_node);
	return 0;
}

/* One file for all inputs, since to make it takes longer than most. */
static struct book *one_book(int *ret_fd)
{
	static struct book *book;
	static int fd = -1;

	if (!book) {
		fd = memfd_create(ABI_BOOK_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 || ftruncate(fd, (off_t)ABI_BOOK_BYTES) < 0 ||
		    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
			abort();
		write_book(fd, NULL, 0);
		if (book_open_file(dup(fd), &book))
			abort();
	}
	*ret_fd = fd;
	return book;
}

/* Nothing else can be wrong with a file that does not change. */
static void check_error(int error)
{
	if (error && error != -EBADMSG)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct book_totals totals;
	int fd;
	struct book *book = one_book(&fd);

	sum_of_all = 0;
	write_book(fd, data, size);
	book_forget_nodes(book);
	if (book_begin(book, &all, CUT, 1))
		return 0; /* it is said to be kept no longer */
	if (book_answer(book, ABI_BOOK_READ))
		abort();
	(void)book_await(book, clock_monotonic_ns()); /* threads may be anywhere */
	check_error(book_read_totals(book, CUT, &totals));
	check_error(book_read_sites(book, CUT, on_site, book));
	check_error(book_read_blocks(book, 0, on_block, book));
	check_error(book_read_tombs(book, 0, on_block, book));
	check_error(book_read_errors(book, on_error, book));
	check_error(book_read_pairs(book, on_pair, book));
	check_error(book_read_freed(book, on_freed, book));
	return 0;
}
