/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/inner_frees.h"

#include "elf/elf_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* malloc.o's text is 25 KiB in glibc 2.36. */
#define REACH 65536
#define CALL_BYTES 5

static bool in_thread_shutdown(const struct elf_file *file, uint64_t vaddr)
{
	static const char *const names[] = { "tcache_thread_shutdown",
					     "__malloc_arena_thread_freeres",
					     "arena_thread_freeres" };
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(file, &n);

	for (size_t i = 0; i < n && symbols[i].value <= vaddr; i++) {
		if (vaddr - symbols[i].value >= symbols[i].size)
			continue;
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (strcmp(symbols[i].name, names[k]) == 0)
				return true;
	}
	return false;
}

/* x86-64: e8 and a distance of 32 bits from the next instruction. */
static bool calls(const uint8_t *code, uint64_t at, uint64_t target)
{
	int32_t distance;

	if (code[0] != 0xe8)
		return false;
	memcpy(&distance, code + 1, sizeof(distance));
	return at + CALL_BYTES + (int64_t)distance == target;
}

size_t inner_frees(struct elf_file *file, uint64_t vaddr, uint64_t ret_returns[INNER_FREES_MAX])
{
	uint64_t from = vaddr > REACH ? vaddr - REACH : 0;
	bool is_static = elf_file_is_static_executable(file);
	_cleanup_free_ uint8_t *code = malloc(2 * REACH);
	size_t len, n = 0;

	if (!code)
		return 0;
	/* The text may begin or end within reach. */
	len = elf_file_read_text(file, from, code, 2 * REACH);
	for (; len == 0 && from < vaddr; from += 4096)
		len = elf_file_read_text(file, from + 4096, code, 2 * REACH);
	for (size_t i = 0; i + CALL_BYTES <= len && n < INNER_FREES_MAX; i++) {
		if (!calls(code + i, from + i, vaddr))
			continue;
		if (is_static && !in_thread_shutdown(file, from + i))
			continue;
		ret_returns[n++] = from + i + CALL_BYTES;
	}
	return n;
}
