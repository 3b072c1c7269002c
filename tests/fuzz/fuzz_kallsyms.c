/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts in the form of /proc/kallsyms; names in it are chosen by whoever loads BPF programs. */
#include "symbol/kallsyms.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

static void try_address(const struct kallsyms *kallsyms, uint64_t addr, size_t size)
{
	struct kallsyms_symbol symbol;

	if (!kallsyms_find(kallsyms, addr, &symbol))
		return;
	check(kallsyms_count(kallsyms) > 0 && symbol.start != 0 && symbol.start <= addr);
	check(symbol.name[0] != '\0' && strlen(symbol.name) < size);
	check(!strpbrk(symbol.name, "\n\t"));
	check(!symbol.module || (symbol.module[0] != '\0' && strlen(symbol.module) < size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(kallsyms_free_p) struct kallsyms *kallsyms = NULL;
	uint64_t addr = 0;

	if (kallsyms_new((const char *)data, size, &kallsyms) < 0)
		return 0;
	check(kallsyms_malformed(kallsyms) + kallsyms_count(kallsyms) <= size);
	for (int bit = 0; bit < 64; bit++) {
		try_address(kallsyms, 1ULL << bit, size);
		try_address(kallsyms, ~0ULL << bit, size);
	}
	/* Every start that the text spells is an address to ask for, too. */
	for (size_t i = 0; i < size && i < 256; i++) {
		addr = addr << 4 | (uint64_t)(data[i] <= '9' ? data[i] & 15 : (data[i] & 7) + 9);
		try_address(kallsyms, addr, size);
	}
	return 0;
}
