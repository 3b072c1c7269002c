/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/book_probe.h"

#include "elf/elf_file.h"
#include "elf/usdt.h"

#include <errno.h>
#include <string.h>

#define PROVIDER "memtraced"
#define NAME "book"

const char *book_function_name(uint16_t function)
{
	static const char *const names[ABI_BOOK_FUNCTIONS] = {
		[ABI_BOOK_MALLOC] = "malloc",
		[ABI_BOOK_CALLOC] = "calloc",
		[ABI_BOOK_REALLOC] = "realloc",
		[ABI_BOOK_MEMALIGN] = "memalign",
		[ABI_BOOK_ALIGNED_ALLOC] = "aligned_alloc",
		[ABI_BOOK_POSIX_MEMALIGN] = "posix_memalign",
		[ABI_BOOK_VALLOC] = "valloc",
		[ABI_BOOK_PVALLOC] = "pvalloc",
		[ABI_BOOK_MALLOCX] = "mallocx",
		[ABI_BOOK_RALLOCX] = "rallocx",
		[ABI_BOOK_XALLOCX] = "xallocx",
		[ABI_BOOK_NEW] = "_Znwm",
		[ABI_BOOK_NEW_ARRAY] = "_Znam",
		[ABI_BOOK_FREE] = "free",
		[ABI_BOOK_REALLOCARRAY] = "reallocarray",
		[ABI_BOOK_DELETE] = "_ZdlPv",
		[ABI_BOOK_DELETE_ARRAY] = "_ZdaPv",
		[ABI_BOOK_DALLOCX] = "dallocx",
		[ABI_BOOK_SDALLOCX] = "sdallocx",
	};

	static_assert(ABI_BOOK_SDALLOCX + 1 == ABI_BOOK_FUNCTIONS, "all have names");
	return names[function];
}

static int find_functions(const struct elf_file *file, uint64_t *ret_offsets)
{
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(file, &n);

	for (uint16_t i = 1; i < ABI_BOOK_FUNCTIONS; i++) {
		ret_offsets[i] = 0;
		for (size_t k = 0; k < n && !ret_offsets[i]; k++)
			if (strcmp(symbols[k].name, book_function_name(i)) == 0 &&
			    elf_file_offset_of(file, symbols[k].value, &ret_offsets[i]))
				return -ENOENT;
		if (!ret_offsets[i])
			return -ENOENT;
	}
	return 0;
}

static int find_variable(void *userdata, const char *name, uint64_t *ret_vaddr)
{
	(void)userdata, (void)name, (void)ret_vaddr;
	return -ENOENT;
}

static int read_probe(const struct elf_file *file, const struct usdt_probe *usdt,
		      struct book_probe *ret_probe)
{
	const struct usdt_globals globals = { usdt->vaddr, find_variable, NULL };
	int n = usdt_args_parse(usdt->args, elf_file_machine(file), &globals, ret_probe->args, 2);

	if (n != 2)
		return n < 0 ? n : -ENOENT;
	ret_probe->offset = usdt->offset;
	ret_probe->semaphore_offset = usdt->semaphore_offset;
	return 0;
}

int book_probe_find(int fd, struct book_probe *ret_probe)
{
	_cleanup_(usdt_notes_done) struct usdt_notes notes = { 0 };
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	int r = elf_file_new(fd, &file);

	if (r == 0)
		r = find_functions(file, ret_probe->functions);
	if (r == 0)
		r = usdt_notes_read(file, PROVIDER, &notes);
	for (size_t i = 0; r == 0 && i < notes.n; i++)
		if (strcmp(notes.probes[i].name, NAME) == 0)
			return read_probe(file, &notes.probes[i], ret_probe);
	return r ? r : -ENOENT;
}
