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
					     "arena_thread_freeres", "tcache_free_init" };
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
	/* How far before a jump to the target a call returned; 0: it is none. NULL: not known. */
	size_t (*jump_back)(const uint8_t *code, size_t before, uint64_t at, uint64_t target);
};

#define CALL_X86 0xe8
#define JUMP_X86 0xe9
#define BYTES_X86 5

/* Where a call or jump leads by its distance of 32 bits from the next instruction. */
static uint64_t target_x86(const uint8_t *code, uint64_t at)
{
	int32_t distance;

	memcpy(&distance, code + 1, sizeof(distance));
	return at + BYTES_X86 + (int64_t)distance;
}

static bool calls_x86(const uint8_t *code, uint64_t at, uint64_t target)
{
	return code[0] == CALL_X86 && target_x86(code, at) == target;
}

/* Its argument and the registers that it has kept are restored in between. */
#define RESTORE_MAX 12

/* What is called is beside it, so that other bytes are hardly taken for a call. */
static size_t jumps_back_x86(const uint8_t *code, size_t before, uint64_t at, uint64_t target)
{
	if (code[0] != JUMP_X86 || target_x86(code, at) != target)
		return 0;
	for (size_t i = 1; i <= RESTORE_MAX && i + BYTES_X86 <= before; i++) {
		const uint8_t *call = code - i - BYTES_X86;

		if (call[0] == CALL_X86 &&
		    target_x86(call, at - i - BYTES_X86) - (target - REACH) < 2 * REACH)
			return i;
	}
	return 0;
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

static const struct calls calls_of_x86 = { BYTES_X86, 1, calls_x86, jumps_back_x86 };
static const struct calls calls_of_arm64 = { 4, 4, calls_arm64, NULL };

/* Of an inner free at `at`; 0: there is none. */
static uint64_t return_address(const struct calls *calls, const uint8_t *code, size_t before,
			       uint64_t at, uint64_t vaddr)
{
	size_t back;

	if (calls->call(code, at, vaddr))
		return at + calls->bytes;
	back = calls->jump_back ? calls->jump_back(code, before, at, vaddr) : 0;
	return back ? at - back : 0;
}

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
		uint64_t address = return_address(calls, code + i, i, from + i, vaddr);

		if (address && (!is_static || in_shutdown(&shutdowns, from + i)))
			ret_returns[n++] = address;
	}
	return n;
}
