/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build ID of an ELF file (NT_GNU_BUILD_ID). */
#ifndef MEMTRACED_ELF_ELF_BUILD_ID_H
#define MEMTRACED_ELF_ELF_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

typedef struct Elf Elf;

/* Its length, 0: there is none. *ret_id lives as long as `elf`, a file of `size` bytes. */
size_t elf_build_id(Elf *elf, uint64_t size, const uint8_t **ret_id);

#endif
