/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files of anybody's making: what tracing reads of them beside the plan (fuzz_plan.c), and what
 * symbols are looked up in.
 */
#include "elf/cfi/cfi_file.h"
#include "elf/cfi/cfi_rows.h"
#include "elf/eh_table.h"
#include "elf/elf_file.h"
#include "elf/elf_needs.h"
#include "elf/elf_symbols.h"
#include "elf/usdt.h"
#include "probe/object_facts.h"
#include "symbol/elf_image.h"
#include "symbol/names.h"
#include "symbol/object_symbols.h"

#include "tests/fuzz/fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_INPUT_BYTES (64 << 10)
#define PLACES 16

static void try_notes(struct elf_file *file)
{
	struct usdt_notes notes;

	if (usdt_notes_read(file, "memory", &notes) < 0)
		return;
	for (size_t i = 0; i < notes.n; i++)
		if (strlen(notes.probes[i].name) + strlen(notes.probes[i].args) > MAX_INPUT_BYTES)
			abort();
	usdt_notes_done(&notes);
}

static void try_exceptions(struct elf_file *file)
{
	_cleanup_(eh_table_free_p) struct eh_table *table = NULL;

	if (eh_table_new(file, &table) < 0)
		return;
	for (uint64_t vaddr = 0x480; vaddr < 0x580; vaddr += 13) {
		(void)eh_table_starts_function(table, vaddr);
		(void)eh_table_landing_pad(table, vaddr);
	}
}

static void try_unwinding(struct elf_file *file)
{
	struct abi_unwind_segment segments[ABI_UNWIND_SEGMENTS];
	const uint64_t addresses[] = { 0x490, 0x4a0 };
	struct cfi_range starts[4];
	struct cfi_rows *rows = NULL;
	bool in_link[2];
	uint32_t n;

	(void)cfi_file_segments(file, segments, &n);
	(void)cfi_file_links(file, addresses, 2, in_link);
	(void)cfi_file_starts(file, starts, 4);
	if (cfi_file_rows(file, true, &rows) == 0)
		cfi_rows_free(rows);
}

static void try_file(int fd)
{
	_cleanup_(data_symbols_free_p) struct data_symbols *symbols = NULL;
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	struct elf_needs needs = { 0 };
	struct stack_start start;
	uint64_t vaddr;

	if (elf_file_new(fd, &file) < 0)
		return;
	if (elf_needs_read(file, &needs) == 0)
		elf_needs_done(&needs);
	if (data_symbols_new(file, &symbols) == 0)
		(void)data_symbols_find(symbols, "counter", &vaddr);
	stack_start_read(file, &start);
	(void)stack_start_contains(&start, 0x1000);
	try_notes(file);
	try_exceptions(file);
	try_unwinding(file);
}

static void try_survey(int fd)
{
	_cleanup_(elf_image_free_p) struct elf_image *image = NULL;
	struct elf_facts facts = { 0 };

	if (elf_image_open(fd, &image) < 0)
		return;
	if (elf_survey(image, &facts) == 0)
		elf_facts_done(&facts);
}

/* As a file with code, and as its debug file. */
static void try_symbols(int fd)
{
	_cleanup_(object_store_free_p) struct object_store *store = NULL;
	_cleanup_(names_done) struct names names;
	const struct object_files files = { .fds = { fd, fd, -1 } };
	const struct object_limits limits = { 1, UINT64_MAX };
	struct object_symbols *object;

	names_init(&names);
	if (object_store_new(&store) < 0 ||
	    object_store_find(store, 1, &files, &limits, &object) < 0)
		return;
	for (uint64_t i = 0; i < PLACES; i++) {
		const struct object_place place = { 0x490 + 7 * i, i % 2 };
		struct symbol_found found;

		(void)object_symbols_find(object, &place, &names, &found);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (size > MAX_INPUT_BYTES)
		return 0;
	fd = fuzz_file(data, size);
	try_file(fd);
	try_survey(fd);
	try_symbols(fd);
	return 0;
}
