/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call frame information of an ELF file: reads what elf/cfi/cfi.h compiles to rows (x86-64),
 * and what elf/cfi/cfi.h looks at (arm64). One thread at a time for a file.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_FILE_H
#define MEMTRACED_ELF_CFI_CFI_FILE_H

#include "elf/cfi/cfi.h"

struct elf_file;

/*
 * Compiles the call frame information of `file`. A file without any gets rows of what its code is
 * known to be, at least one that says nothing. 0, or -EOPNOTSUPP: not for x86-64; -EBADMSG:
 * damaged; -EFBIG, -E2BIG: larger than any that a linker makes; -ENOMEM.
 */
int cfi_file_rows(struct elf_file *file, bool pruned, struct cfi_rows **ret_rows);

/*
 * At which of n addresses the return address is in the link register alone: at none where the file
 * says nothing, or is not for arm64. 0 or -ENOMEM.
 */
int cfi_file_links(struct elf_file *file, const uint64_t *addresses, size_t n, bool *ret_in_link);

/* cfi_find_starts() of a file for arm64; of others, and of what cannot be read, there are none. */
size_t cfi_file_starts(struct elf_file *file, struct cfi_range *ret_starts, size_t max);

/*
 * The executable segments as mappings of them begin: by whole pages. 0, or -E2BIG: there are more
 * than ABI_UNWIND_SEGMENTS (the first ones are written), or one is out of reach of 32 bits.
 */
int cfi_file_segments(const struct elf_file *file,
		      struct abi_unwind_segment ret_segments[ABI_UNWIND_SEGMENTS], uint32_t *ret_n);

#endif
