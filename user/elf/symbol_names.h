/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols of a file by name, for who looks for many. */
#ifndef MEMTRACED_ELF_SYMBOL_NAMES_H
#define MEMTRACED_ELF_SYMBOL_NAMES_H

#include "elf/elf_file.h"

struct symbol_names;

/* Of symbols that live as long; all but STT_GNU_IFUNC. 0 or -ENOMEM. */
int symbol_names_new(const struct elf_symbol *symbols, size_t n, struct symbol_names **ret_names);
void symbol_names_free(struct symbol_names *names); /* NULL is legal */
DEFINE_CLEANUP(struct symbol_names, symbol_names_free)

/* The first one that has this name, or NULL. */
const struct elf_symbol *symbol_names_find(const struct symbol_names *names, const char *name);

#endif
