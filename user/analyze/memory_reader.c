/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/memory_reader.h"

#include <errno.h>
#include <string.h>

#define SLOTS 256U
#define NO_PAGE 1ULL /* no page starts there */

struct memory_reader {
	reach_read_fn read;
	void *ctx;
	uint64_t pages[SLOTS];
	size_t lens[SLOTS];
	unsigned char data[SLOTS][MEMORY_PAGE];
};

int memory_reader_new(reach_read_fn read, void *ctx, struct memory_reader **ret_reader)
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

void memory_reader_free(struct memory_reader *reader)
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
static const unsigned char *kept(struct memory_reader *reader, uint64_t addr, size_t *ret_len)
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

size_t memory_reader_copy(struct memory_reader *reader, uint64_t addr, void *buf, size_t size)
{
	size_t done = 0;

	if (size > MEMORY_PAGE)
		return read_directly(reader, addr, buf, size);
	while (done < size) {
		size_t len;
		const unsigned char *from = kept(reader, addr + done, &len);

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
