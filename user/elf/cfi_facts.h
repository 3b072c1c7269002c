/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must be known of a file before its rows are needed: by which key they are kept, and where
 * its code lies. Plain data, which outlives the file's being open.
 */
#ifndef MEMTRACED_ELF_CFI_FACTS_H
#define MEMTRACED_ELF_CFI_FACTS_H

#include "elf/cfi_codec.h"

struct elf_file;

struct cfi_facts {
	struct cfi_key key; /* of rows for any instruction: not pruned */
	struct abi_unwind_segment segments[ABI_UNWIND_SEGMENTS];
	uint32_t n_segments;
};

void cfi_facts_read(struct elf_file *file, struct cfi_facts *ret_facts);

#endif
