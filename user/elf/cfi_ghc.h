/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that GHC has made of Haskell. It has a stack of its own, and no information unless it was
 * built with -g; but the stack of C stays where the run-time's StgRun has left it, so that what
 * Haskell code calls has one and the same caller of C. Internal to elf/cfi*.c.
 */
#ifndef MEMTRACED_ELF_CFI_GHC_H
#define MEMTRACED_ELF_CFI_GHC_H

#include "elf/cfi_input.h"
#include "elf/cfi_pieces.h"

/* Adds to settled pieces the gaps between them, if the run-time of GHC is there. 0 or -ENOMEM. */
int cfi_add_ghc(const struct cfi_input *in, struct cfi_pieces *pieces);

#endif
