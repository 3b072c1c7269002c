/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/inner_frees.h"

#include "elf/elf_file.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* malloc.o's text is 25 KiB in glibc 2.36. */
#define REACH 65536

/* Each function has one or two symbols. */
#define MAX_SHUTDOWNS 16

/* The functions of a static executable that end a thread's use of the heap. */
struct shutdowns {
	const struct elf_symbol *list[MAX_SHUTDOWNS];
	size_t n;
};

static void find_shutdowns(const struct elf_file *file, struct shutdowns *ret)
{
	static const char *const names[] = { "tcache_thread_shutdown",
					     "__malloc_arena_thread_freeres",
					     "arena_thread_freeres" };
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(file, &n);

	ret->n = 0;
	for (size_t i = 0; i < n && ret->n < MAX_SHUTDOWNS; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (ret->n < MAX_SHUTDOWNS && strcmp(symbols[i].name, names[k]) == 0)
				ret->list[ret->n++] = &symbols[i];
}

static bool in_shutdown(const struct shutdowns *shutdowns, uint64_t vaddr)
{
	for (size_t i = 0; i < shutdowns->n; i++)
		if (vaddr >= shutdowns->list[i]->value &&
		    vaddr - shutdowns->list[i]->value < shutdowns->list[i]->size)
			return true;
	return false;
}

/* What a machine's direct calls look like. */
struct calls {
	size_t bytes, step;
	bool (*call)(const uint8_t *code, uint64_t at, uint64_t target);
};

/* x86-64: e8 and a distance of 32 bits from the next instruction. */
static bool calls_x86(const uint8_t *code, uint64_t at, uint64_t target)
{
	int32_t distance;

	if (code[0] != 0xe8)
		return false;
	memcpy(&distance, code + 1, sizeof(distance));
	return at + 5 + (int64_t)distance == target;
}

/* arm64: bl, a distance of 26 bits in words. */
static bool calls_arm64(const uint8_t *code, uint64_t at, uint64_t target)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	if ((word & 0xfc000000) != 0x94000000)
		return false;
	return at + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4) == target;
}

static const struct calls calls_of_x86 = { 5, 1, calls_x86 };
static const struct calls calls_of_arm64 = { 4, 4, calls_arm64 };

size_t inner_frees(struct elf_file *file, uint64_t vaddr, uint64_t ret_returns[INNER_FREES_MAX])
{
	uint64_t from = vaddr > REACH ? vaddr - REACH : 0;
	const struct calls *calls =
		elf_file_machine(file) == EM_AARCH64 ? &calls_of_arm64 : &calls_of_x86;
	bool is_static = elf_file_is_static_executable(file);
	_cleanup_free_ uint8_t *code = malloc(2 * REACH);
	struct shutdowns shutdowns = { .n = 0 };
	size_t len, n = 0;

	if (!code)
		return 0;
	if (is_static)
		find_shutdowns(file, &shutdowns);
	/* The text may begin or end within reach. */
	len = elf_file_read_text(file, from, code, 2 * REACH);
	for (; len == 0 && from < vaddr; from += 4096)
		len = elf_file_read_text(file, from + 4096, code, 2 * REACH);
	for (size_t i = 0; i + calls->bytes <= len && n < INNER_FREES_MAX; i += calls->step) {
		if (!calls->call(code + i, from + i, vaddr))
			continue;
		if (is_static && !in_shutdown(&shutdowns, from + i))
			continue;
		ret_returns[n++] = from + i + calls->bytes;
	}
	return n;
}
