/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CIEs and FDEs of .eh_frame and .debug_frame, as far as rows are made from them, and the reader
 * of their numbers. Internal to elf/cfi/.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_ENTRY_H
#define MEMTRACED_ELF_CFI_CFI_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Reads numbers of DWARF off a buffer. A read past the end makes it and all later ones fail, and
 * they give 0.
 */
struct cfi_reader {
	const uint8_t *at, *end;
	bool failed;
};

static inline size_t cfi_left(const struct cfi_reader *r)
{
	return (size_t)(r->end - r->at);
}

static inline void cfi_fail(struct cfi_reader *r)
{
	r->failed = true;
	r->at = r->end;
}

/* A little-endian number of 1, 2, 4 or 8 bytes. */
static inline uint64_t cfi_get(struct cfi_reader *r, size_t size)
{
	uint64_t value = 0;

	if (cfi_left(r) < size) {
		cfi_fail(r);
		return 0;
	}
	memcpy(&value, r->at, size);
	r->at += size;
	return value;
}

static inline uint8_t cfi_get_u8(struct cfi_reader *r)
{
	return (uint8_t)cfi_get(r, 1);
}

static inline uint64_t cfi_get_leb128(struct cfi_reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cfi_get_u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && shift < 70);
	if (byte & 0x80)
		cfi_fail(r);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~0ULL << shift;
	return r->failed ? 0 : value;
}

static inline uint64_t cfi_get_uleb(struct cfi_reader *r)
{
	return cfi_get_leb128(r, false);
}

static inline int64_t cfi_get_sleb(struct cfi_reader *r)
{
	return (int64_t)cfi_get_leb128(r, true);
}

/* The next `len` bytes as a reader of their own. */
static inline struct cfi_reader cfi_get_block(struct cfi_reader *r, uint64_t len)
{
	struct cfi_reader block = { r->at, r->at, false };

	if (len > cfi_left(r)) {
		cfi_fail(r);
		return block;
	}
	r->at += len;
	block.end = r->at;
	return block;
}

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
	bool has_size;		   /* FDEs have augmentation data, with its length */
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
