/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols of a file by name, for callers that look for many, and its variables. */
#ifndef MEMTRACED_ELF_ELF_SYMBOLS_H
#define MEMTRACED_ELF_ELF_SYMBOLS_H

#include "base/cleanup.h"
#include "elf/elf_file.h"

#include <stdint.h>

struct symbol_names;

/* Of symbols that live as long; all but STT_GNU_IFUNC. 0 or -ENOMEM. */
int symbol_names_new(const struct elf_symbol *symbols, size_t n, struct symbol_names **ret_names);
void symbol_names_free(struct symbol_names *names); /* NULL is legal */
DEFINE_CLEANUP(struct symbol_names, symbol_names_free)

/* The first one that has this name, or NULL. */
const struct elf_symbol *symbol_names_find(const struct symbol_names *names, const char *name);

/*
 * Where the variables of a file are, by name: .symtab and .dynsym, those of threads left out, which
 * are at no address of the file. Read for who asks for one by its name, as notes of probes do. The
 * file is not trusted: read in the process that is confined. One thread.
 */

struct data_symbols;

/* 0, also of a file without any or with damaged ones, which are left out; -ENOMEM. */
int data_symbols_new(struct elf_file *file, struct data_symbols **ret_symbols);
void data_symbols_free(struct data_symbols *symbols); /* NULL is legal */
DEFINE_CLEANUP(struct data_symbols, data_symbols_free)

/* 0; -ENOENT: there is none; -ENOTUNIQ: static ones of several sources have that name. */
int data_symbols_find(const struct data_symbols *symbols, const char *name, uint64_t *ret_vaddr);

#endif
