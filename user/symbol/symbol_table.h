/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of an object by address, from its .symtab or that of its debug file, else from
 * .dynsym and mini debug info. Names stay the images'.
 */
#ifndef MEMTRACED_SYMBOL_SYMBOL_TABLE_H
#define MEMTRACED_SYMBOL_SYMBOL_TABLE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_image;
struct symbol_table;

struct table_symbol {
	uint64_t start, end;
	const char *name; /* name_len bytes, without a symbol version */
	uint32_t name_len;
	bool is_label; /* no function by type and size: less to be trusted than DWARF */
};

/* `debug` may be NULL. The images must outlive the table. 0 (also for no symbols) or -ENOMEM. */
int symbol_table_new(const struct elf_image *image, const struct elf_image *debug,
		     struct symbol_table **ret_table);
void symbol_table_free(struct symbol_table *table); /* NULL is legal */
DEFINE_CLEANUP(struct symbol_table, symbol_table_free)

/*
 * The symbol that best names what is at the address: a sized function before a label, the innermost
 * of nested ones, and of aliases the exported one with the fewest leading underscores. Or NULL.
 */
const struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t vaddr);

/*
 * The name in the table, with its version, that Valgrind chooses for the symbol among those of its
 * address; NULL: the symbol's own.
 */
const char *symbol_table_valgrind_name(const struct symbol_table *table,
				       const struct table_symbol *symbol);

/* What it takes, with the sections that were read for it. */
uint64_t symbol_table_bytes(const struct symbol_table *table);

#endif
