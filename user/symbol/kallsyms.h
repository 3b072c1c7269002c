/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of /proc/kallsyms: the functions of the kernel, of its modules and of BPF programs, by
 * address. The text has no sizes: a function ends where the next symbol begins.
 */
#ifndef MEMTRACED_SYMBOL_KALLSYMS_H
#define MEMTRACED_SYMBOL_KALLSYMS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;

/* The strings are the table's. */
struct kallsyms_symbol {
	uint64_t start;
	const char *name;
	const char *module; /* "nf_tables"; NULL: the kernel's own */
};

/*
 * Copies what it needs of the text. 0 or -ENOMEM; malformed lines are skipped. Addresses that are
 * all zero (kptr_restrict) make an empty table.
 */
int kallsyms_new(const char *text, size_t len, struct kallsyms **ret_kallsyms);
void kallsyms_free(struct kallsyms *kallsyms); /* NULL is legal */
DEFINE_CLEANUP(struct kallsyms, kallsyms_free)

/* False when no function is known to be there. */
bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr,
		   struct kallsyms_symbol *ret_symbol);

/* Functions in the table. */
size_t kallsyms_count(const struct kallsyms *kallsyms);

/* How many lines were skipped; empty lines are not counted. */
uint64_t kallsyms_malformed(const struct kallsyms *kallsyms);

#endif
