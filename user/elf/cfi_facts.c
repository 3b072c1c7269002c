/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_facts.h"

#include "elf/cfi_file.h"

void cfi_facts_read(struct elf_file *file, struct cfi_facts *ret_facts)
{
	*ret_facts = (struct cfi_facts){ 0 };
	cfi_key_of(file, NULL, false, &ret_facts->key);
	/* -E2BIG: those that there is room for */
	(void)cfi_file_segments(file, ret_facts->segments, &ret_facts->n_segments);
}
