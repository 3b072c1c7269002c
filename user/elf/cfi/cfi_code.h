/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame rules of functions that have no call frame information (musl, hand-written assembly),
 * from their machine code: each path from a function's start is followed, and where rsp and the
 * caller's rbp are is kept for each instruction. A function whose paths contradict each other, or
 * one of whose returns does not find the stack as it was at the start, gets no rules. Internal to
 * elf/cfi/.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_CODE_H
#define MEMTRACED_ELF_CFI_CFI_CODE_H

#include "elf/cfi/cfi_pieces.h"

/*
 * Adds to settled pieces those of functions in the gaps between them. Functions start at
 * in->starts, and where followed code calls or takes an address. 0 or -ENOMEM.
 */
int cfi_add_code(const struct cfi_input *in, struct cfi_pieces *pieces);

#endif
