/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles call frame information (.eh_frame, .debug_frame) of x86-64 to the rows and rules of
 * bpf/abi_unwind.h; of arm64, finds where return addresses are. Functions of buffers, without
 * state; no byte of what they are given is believed: an entry that is damaged is left out and
 * counted. What of an ELF file is given to them is elf/cfi/cfi_file.h's matter.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_H
#define MEMTRACED_ELF_CFI_CFI_H

#include "elf/cfi/cfi_pieces.h"
#include "elf/cfi/cfi_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * Where code of arm64 has its return address, as far as walks by frame records want to know: in a
 * function that calls nothing it is mostly still in the link register, and in no record; what
 * threads begin with has none. Of `in`, code and entry are not looked at.
 *
 * Whether at each of n addresses the return address is in the register that it came in. False where
 * it has been saved, or nothing is known.
 */
void cfi_find_links(const struct cfi_input *in, const uint64_t *addresses, size_t n,
		    bool *ret_in_link);

struct cfi_range {
	uint64_t start, end; /* addresses */
};

/* The functions of .eh_frame that are not called, from their begin on: how many, `max` at most. */
size_t cfi_find_starts(const struct cfi_input *in, struct cfi_range *ret_starts, size_t max);

#endif
