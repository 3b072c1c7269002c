/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that loaded objects export, without dlsym(3), which is one of those that this library
 * stands before. In objects with DT_GNU_HASH, as all are whose functions are sought here. Nothing
 * is allocated.
 */
#ifndef MEMTRACED_SAMPLE_ELF_SYMBOL_H
#define MEMTRACED_SAMPLE_ELF_SYMBOL_H

#include <link.h>
#include <stdbool.h>

/* Has this loaded object the address? For callbacks of dl_iterate_phdr(3). */
bool elf_object_has(const struct dl_phdr_info *object, const void *address);

/* Of this library; NULL: none of that name. */
void *elf_symbol_ours(const char *name);

/*
 * Of the first object behind this library that has one. Calls nothing: a sanitizer asks for the
 * functions that it stands before, as strcmp(3) or dl_iterate_phdr(3), before it can be called.
 */
void *elf_symbol_next(const char *name);

/* Whether the object that has this address exports a function of that name itself. */
bool elf_symbol_is_of(const void *address, const char *name);

/* Whether it has been loaded before this library. */
bool elf_symbol_is_before_us(const void *address);

#endif
