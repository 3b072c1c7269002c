/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that is known by its bytes, which no entry describes, or not as what it is. Internal to
 * elf/cfi*.c.
 */
#ifndef MEMTRACED_ELF_CFI_KNOWN_H
#define MEMTRACED_ELF_CFI_KNOWN_H

#include "elf/cfi_input.h"
#include "elf/cfi_pieces.h"

/* Go's assembler describes its signal return like any function: those that begin as one are it. */
void cfi_mark_known(const struct cfi_input *in, struct cfi_pieces *pieces);

/* Adds to settled pieces what is known of the gaps between them. 0 or -ENOMEM. */
int cfi_add_known(const struct cfi_input *in, struct cfi_pieces *pieces);

#endif
