/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CIEs and FDEs of .eh_frame and .debug_frame, as far as rows are made from them. Internal to
 * elf/cfi*.c.
 */
#ifndef MEMTRACED_ELF_CFI_ENTRY_H
#define MEMTRACED_ELF_CFI_ENTRY_H

#include "elf/cfi_reader.h"

struct cfi_bytes;

/* A section as it is walked. */
struct cfi_section {
	const uint8_t *data;
	size_t len;
	uint64_t addr;
	uint64_t data_base; /* of DW_EH_PE_datarel */
	bool is_eh;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register;
	uint8_t pointer_encoding; /* of addresses in its FDEs */
	uint8_t segment_size;
	bool has_size; /* FDEs have augmentation data, with its length */
	bool is_signal;
	struct cfi_reader program; /* initial instructions */
};

struct cfi_fde {
	uint64_t start, end; /* addresses; start < end */
	size_t cie;	     /* offset of its CIE in the section */
	struct cfi_reader program;
};

enum cfi_entry {
	CFI_ENTRY_END,
	CFI_ENTRY_FDE,
	CFI_ENTRY_CIE,	   /* or an FDE of no code: nothing to do */
	CFI_ENTRY_DAMAGED, /* the next one is tried */
};

/* Reads the entry at *offset and moves on; *ret_fde is written for CFI_ENTRY_FDE only. */
enum cfi_entry cfi_next_entry(const struct cfi_section *section, size_t *offset,
			      struct cfi_fde *ret_fde);

/* Whether there is a CIE at `offset` that can be understood. */
bool cfi_read_cie(const struct cfi_section *section, size_t offset, struct cfi_cie *ret_cie);

/* An address in the reader's section by a DW_EH_PE_ encoding; sets `failed` where it has none. */
uint64_t cfi_get_pointer(const struct cfi_section *section, struct cfi_reader *r, uint8_t encoding);

#endif
