/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the variables of a file are, by name: .symtab and .dynsym, those of threads left out, which
 * are at no address of the file. Read for who asks for one by its name, as notes of probes do. The
 * file is not trusted: read in the process that is confined. One thread.
 */
#ifndef MEMTRACED_ELF_DATA_SYMBOLS_H
#define MEMTRACED_ELF_DATA_SYMBOLS_H

#include "base/cleanup.h"

#include <stdint.h>

struct data_symbols;
struct elf_file;

/* 0, also of a file without any or with damaged ones, which are left out; -ENOMEM. */
int data_symbols_new(struct elf_file *file, struct data_symbols **ret_symbols);
void data_symbols_free(struct data_symbols *symbols); /* NULL is legal */
DEFINE_CLEANUP(struct data_symbols, data_symbols_free)

/* 0; -ENOENT: there is none; -ENOTUNIQ: static ones of several sources have that name. */
int data_symbols_find(const struct data_symbols *symbols, const char *name, uint64_t *ret_vaddr);

#endif
