/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/scanner.h"

#include "base/ranges.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

#define SLOTS 256U
#define NO_PAGE 1ULL /* no page starts there */

/*
 * Reads the memory of a stopped process: small pieces by way of pages that are kept (1 MiB), since
 * small blocks lie side by side and each read of a process is a system call. One thread.
 */
struct memory_reader {
	reach_read_fn read;
	void *ctx;
	uint64_t pages[SLOTS];
	size_t lens[SLOTS];
	unsigned char data[SLOTS][MEMORY_PAGE];
};

static int memory_reader_new(reach_read_fn read, void *ctx, struct memory_reader **ret_reader)
{
	struct memory_reader *reader = malloc(sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->read = read;
	reader->ctx = ctx;
	for (size_t i = 0; i < SLOTS; i++)
		reader->pages[i] = NO_PAGE;
	*ret_reader = reader;
	return 0;
}

static void memory_reader_free(struct memory_reader *reader)
{
	free(reader);
}

static size_t read_directly(const struct memory_reader *reader, uint64_t addr, void *buf,
			    size_t size)
{
	int r = reader->read(reader->ctx, addr, buf, size);

	if (r <= 0)
		return 0;
	return (size_t)r < size ? (size_t)r : size;
}

/* Of the page that holds addr: what follows addr there. */
static const unsigned char *cached_page(struct memory_reader *reader, uint64_t addr,
					size_t *ret_len)
{
	uint64_t page = addr & ~(uint64_t)(MEMORY_PAGE - 1);
	size_t slot = page / MEMORY_PAGE % SLOTS, offset = addr - page;

	if (reader->pages[slot] != page) {
		reader->lens[slot] = read_directly(reader, page, reader->data[slot], MEMORY_PAGE);
		reader->pages[slot] = page;
	}
	*ret_len = reader->lens[slot] > offset ? reader->lens[slot] - offset : 0;
	return reader->data[slot] + offset;
}

/* How many bytes from addr on could be copied, `size` at most: up to the first unreadable page. */
static size_t memory_reader_copy(struct memory_reader *reader, uint64_t addr, void *buf,
				 size_t size)
{
	size_t done = 0;

	if (size > MEMORY_PAGE)
		return read_directly(reader, addr, buf, size);
	while (done < size) {
		size_t len;
		const unsigned char *from = cached_page(reader, addr + done, &len);

		if (!len)
			break;
		if (len > size - done)
			len = size - done;
		memcpy((char *)buf + done, from, len);
		done += len;
	}
	return done;
}

bool memory_reader_word(struct memory_reader *reader, uint64_t addr, uint64_t *ret_word)
{
	return memory_reader_copy(reader, addr, ret_word, sizeof(*ret_word)) == sizeof(*ret_word);
}

#define WORD sizeof(uint64_t)
#define BUF_SIZE (256U << 10)

int scanner_init(struct scanner *scanner, const struct reach_input *input,
		 const struct reach_opts *opts, const struct block_index *index)
{
	*scanner = (struct scanner){ .input = input, .opts = opts, .index = index };
	block_index_span(index, &scanner->first, &scanner->span);
	if (scanner->span && opts->end_pointers)
		scanner->span++;
	scanner->buf = malloc(BUF_SIZE);
	return scanner->buf ? memory_reader_new(input->read, input->ctx, &scanner->reader) :
			      -ENOMEM;
}

void scanner_done(struct scanner *scanner)
{
	memory_reader_free(scanner->reader);
	free(scanner->buf);
}

void scanner_counts_add(struct scanner_counts *sum, const struct scanner_counts *counts)
{
	sum->root_bytes += counts->root_bytes;
	sum->block_bytes += counts->block_bytes;
	sum->unreadable_bytes += counts->unreadable_bytes;
	sum->glibc_words += counts->glibc_words;
}

/* Is this the address of the header that follows the block in glibc's heap (malloc/malloc.c)? */
static bool is_next_header(const struct reach_block *block, uint64_t word)
{
	uint64_t usable = ((block->size + WORD + 15) & ~15ULL) - WORD;

	if (usable < 3 * WORD)
		usable = 3 * WORD;
	return word == block->addr + usable - WORD;
}

/* A word within the span. */
static void look_up_word(struct scanner *scanner, uint64_t word, uint32_t flags)
{
	uint64_t first, span;
	uint32_t block = BLOCK_NONE;

	block_index_span(scanner->index, &first, &span);
	if (word - first < span)
		block = block_index_find(scanner->index, word);
	if (block == BLOCK_NONE && scanner->opts->end_pointers && word > first)
		block = block_index_find(scanner->index, word - 1);
	if (block == BLOCK_NONE)
		return;
	if (flags & REACH_ROOT_GLIBC && is_next_header(&scanner->input->blocks[block], word))
		scanner->counts.glibc_words++;
	else
		scanner->found(scanner->ctx, block, word);
}

void scanner_word(struct scanner *scanner, uint64_t word)
{
	if (word - scanner->first < scanner->span)
		look_up_word(scanner, word, 0);
}

/* The words that lie whole in these bytes. */
static void scan_bytes(struct scanner *scanner, const unsigned char *bytes, size_t len,
		       uint32_t flags)
{
	uint64_t first = scanner->first, span = scanner->span;
	size_t step = scanner->opts->alignment;

	for (size_t at = 0; at + WORD <= len; at += step) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		if (__builtin_expect(word - first < span, 0))
			look_up_word(scanner, word, flags);
	}
}

static uint64_t align(const struct scanner *scanner, uint64_t addr)
{
	uint64_t mask = scanner->opts->alignment - 1;

	return (addr + mask) & ~mask;
}

/* As scan_bytes, of the bytes at addr, without those that lie in blocks. */
static void scan_between_blocks(struct scanner *scanner, uint64_t addr, size_t len, uint32_t flags)
{
	uint32_t block = block_index_after(scanner->index, addr);
	uint64_t at = addr, end = addr + len;

	while (at < end) {
		uint64_t gap_end = end;

		if (block < scanner->input->n_blocks && scanner->input->blocks[block].addr < end)
			gap_end = scanner->input->blocks[block].addr;
		if (gap_end > at) {
			scan_bytes(scanner, scanner->buf + (at - addr), gap_end - at, flags);
			scanner->counts.root_bytes += gap_end - at;
		}
		if (gap_end == end)
			return;
		at = align(scanner, block_index_end(scanner->index, block++));
	}
}

/* Words that begin from `start` on and end by `end`, whether in use or not. */
static void scan_all(struct scanner *scanner, uint64_t start, uint64_t end, bool root,
		     uint32_t flags)
{
	uint64_t at = align(scanner, start);

	while (at < end && end - at >= WORD) {
		size_t want = end - at < BUF_SIZE ? end - at : BUF_SIZE;
		size_t len = memory_reader_copy(scanner->reader, at, scanner->buf, want);

		if (root) {
			scan_between_blocks(scanner, at, len, flags);
		} else {
			scan_bytes(scanner, scanner->buf, len, flags);
			scanner->counts.block_bytes += len;
		}
		if (len == want) {
			if (want == end - at)
				return;
			/* The last words that begin in the buffer end behind it. */
			at += len - WORD + scanner->opts->alignment;
		} else {
			uint64_t next = ((at + len) | (MEMORY_PAGE - 1)) + 1;

			scanner->counts.unreadable_bytes += (next < end ? next : end) - (at + len);
			at = next;
		}
	}
}

/* The first unused range that ends behind addr; the number of them: none. */
static size_t unused_after(const struct ranges *unused, uint64_t addr)
{
	return partition_point(unused->list.len, i, unused->list.data[i].end <= addr);
}

/* The same without what is not in use. */
static void scan_range(struct scanner *scanner, uint64_t start, uint64_t end, bool root,
		       uint32_t flags)
{
	const struct ranges *unused = scanner->input->unused;
	size_t n = unused ? unused->list.len : 0;

	for (size_t i = n ? unused_after(unused, start) : 0; i < n && start < end; i++) {
		const struct range *range = &unused->list.data[i];

		if (range->start >= end)
			break;
		if (range->start > start)
			scan_all(scanner, start, range->start, root, flags);
		start = range->end;
	}
	if (start < end)
		scan_all(scanner, start, end, root, flags);
}

/* Where words that begin before `limit` may end. */
static uint64_t last_end(uint64_t limit, uint64_t end)
{
	return end - limit < WORD - 1 ? end : limit + WORD - 1;
}

void scanner_block_part(struct scanner *scanner, uint32_t block, uint64_t start, uint64_t limit)
{
	uint64_t end = block_index_end(scanner->index, block);

	/* A block without a byte has no contents, although its address is one to point to. */
	if (scanner->input->blocks[block].size)
		scan_range(scanner, start, last_end(limit, end), false, 0);
}

void scanner_root_part(struct scanner *scanner, const struct reach_range *root, uint64_t start,
		       uint64_t limit)
{
	uint32_t block = block_index_after(scanner->index, start);

	/* Nothing is read for what one block covers: most of a mapping that holds a large one. */
	if (block < scanner->input->n_blocks && scanner->input->blocks[block].addr <= start) {
		start = block_index_end(scanner->index, block);
		if (start >= limit)
			return;
	}
	scan_range(scanner, start, last_end(limit, root->end), true, root->flags);
}
