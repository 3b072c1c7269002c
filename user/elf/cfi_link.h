/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where code of arm64 has its return address, as far as walks by frame records want to know: in a
 * function that calls nothing it is mostly still in the link register, and in no record; what
 * threads begin with has none. Functions of buffers, like elf/cfi.h, and as little is believed.
 * What of a file is given to them is elf/cfi_file.h's matter. Of `in`, code and entry are not
 * looked at.
 */
#ifndef MEMTRACED_ELF_CFI_LINK_H
#define MEMTRACED_ELF_CFI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_input;

/*
 * Whether at each of n addresses the return address is in the register that it came in. False where
 * it has been saved, or nothing is known.
 */
void cfi_find_links(const struct cfi_input *in, const uint64_t *addresses, size_t n,
		    bool *ret_in_link);

struct cfi_range {
	uint64_t start, end; /* addresses */
};

/* The functions of .eh_frame that nobody calls, from their begin on: how many, `max` at most. */
size_t cfi_find_starts(const struct cfi_input *in, struct cfi_range *ret_starts, size_t max);

#endif
