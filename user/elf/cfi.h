/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles call frame information (.eh_frame, .debug_frame) of x86-64 to the rows and rules of
 * bpf/abi_unwind.h. Functions of buffers, without state; no byte of what they are given is
 * believed: an entry that is damaged is left out and counted. What of an ELF file is given to them
 * is elf/cfi_file.h's matter.
 */
#ifndef MEMTRACED_ELF_CFI_H
#define MEMTRACED_ELF_CFI_H

#include "elf/cfi_input.h"
#include "elf/cfi_rows.h"

/*
 * Where entries overlap, the one that starts first wins, of equals the one that comes first;
 * .debug_frame fills what .eh_frame leaves uncovered. 0, or -ENOMEM; -E2BIG: there is code more
 * than 4 GiB from `base`.
 */
int cfi_compile(const struct cfi_input *in, struct cfi_rows **ret_rows);

/*
 * Leaves out rows that stacks without a signal never need. What is left is right for the address
 * of and the byte before each instruction that follows a call or a `syscall`, and for signal
 * handlers' return. Calls are told by their bytes, wherever they stand: too many rather than too
 * few. `text` must hold the bytes of all executable segments. 0 or -ENOMEM.
 */
int cfi_prune(const struct cfi_rows *full, const struct cfi_bytes *text, size_t n_text,
	      uint64_t base, struct cfi_rows **ret_rows);

#endif
