/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that is known by its bytes, which no entry describes, or not as what it is. Internal to
 * elf/cfi/.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_KNOWN_H
#define MEMTRACED_ELF_CFI_CFI_KNOWN_H

#include "elf/cfi/cfi_pieces.h"

/* Go's assembler describes its signal return like any function: those that begin as one are it. */
void cfi_mark_known(const struct cfi_input *in, struct cfi_pieces *pieces);

/* Adds to settled pieces what is known of the gaps between them. 0 or -ENOMEM. */
int cfi_add_known(const struct cfi_input *in, struct cfi_pieces *pieces);

/*
 * Code that GHC has made of Haskell. It has a stack of its own, and no information unless it was
 * built with -g; but the stack of C stays where the run-time's StgRun has left it, so that what
 * Haskell code calls has one and the same caller of C. Internal to elf/cfi/.
 */

/* Adds to settled pieces the gaps between them, if the run-time of GHC is there. 0 or -ENOMEM. */
int cfi_add_ghc(const struct cfi_input *in, struct cfi_pieces *pieces);

#endif
