/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/stack_start.h"

#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"

#include <string.h>

/* _start is about 40 bytes of hand-written code in every libc. */
#define ENTRY_BYTES 64
/* Since glibc 2.34 main is called by a static function that stands right before it in the text. */
#define BEFORE_START_MAIN 512

static void read_threads(struct elf_file *elf, struct stack_start *ret_start)
{
	struct cfi_range ranges[STACK_START_THREADS];
	size_t n = cfi_file_starts(elf, ranges, STACK_START_THREADS);

	for (size_t i = 0; i < n; i++) {
		uint64_t offset;

		if (elf_file_offset_of(elf, ranges[i].start, &offset))
			continue;
		ret_start->threads[i].start = offset;
		ret_start->threads[i].end = offset + ranges[i].end - ranges[i].start;
	}
}

void stack_start_read(struct elf_file *elf, struct stack_start *ret_start)
{
	const struct elf_symbol *symbols;
	size_t n;

	*ret_start = (struct stack_start){ 0 };
	(void)elf_file_offset_of(elf, elf_file_entry(elf), &ret_start->entry); /* -ENOENT: none */
	symbols = elf_file_symbols(elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(symbols[i].name, "__libc_start_main") != 0 ||
		    elf_file_offset_of(elf, symbols[i].value, &ret_start->main_call))
			continue;
		ret_start->main_call_end = ret_start->main_call + symbols[i].size;
		ret_start->main_call -= BEFORE_START_MAIN;
		read_threads(elf, ret_start);
		return;
	}
}

bool stack_start_contains(const struct stack_start *start, uint64_t file_offset)
{
	if (start->entry && file_offset >= start->entry && file_offset < start->entry + ENTRY_BYTES)
		return true;
	for (int i = 0; i < STACK_START_THREADS; i++)
		if (file_offset >= start->threads[i].start && file_offset < start->threads[i].end)
			return true;
	return start->main_call && file_offset >= start->main_call &&
	       file_offset < start->main_call_end;
}
