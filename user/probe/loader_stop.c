/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/loader_stop.h"

#include "elf/elf_file.h"

#include <elf.h>
#include <string.h>

/* glibc's and musl's; both export it. */
#define LOADER_STOP "_dl_debug_state"

uint64_t loader_stop_find(const struct elf_file *file)
{
	const struct elf_symbol *symbols;
	uint64_t offset;
	size_t n;

	if (elf_file_type(file) != ET_DYN || elf_file_is_static_executable(file))
		return 0;
	symbols = elf_file_symbols(file, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, LOADER_STOP) == 0 && !symbols[i].is_ifunc &&
		    elf_file_offset_of(file, symbols[i].value, &offset) == 0)
			return offset;
	return 0;
}
