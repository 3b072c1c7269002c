/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/heuristics.h"

#define WORD sizeof(uint64_t)
#define VTABLE_WORDS 20 /* looked at; zeros are slots of pure functions that were dropped */
#define VTABLE_FUNCTIONS 2

static bool in_file(const struct reach_input *input, uint64_t addr, uint32_t flag)
{
	size_t low = 0, high = input->n_files;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (input->files[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
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

enum reach_heuristic heuristics_find(const struct reach_input *input, struct memory_reader *reader,
				     uint32_t set, const struct reach_block *block, uint64_t ptr)
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
