/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats: DWARF 5, chapter 6.4.1 and earlier versions; Linux Standard Base 5.0 core, 10.6. */
#include "elf/cfi/cfi_entry.h"

#include <dwarf.h>

#define ADDRESS_BYTES 8
#define DWARF64_LENGTH 0xffffffffU
/* Each FDE has its CIE read, so these are short: real ones have up to 5 letters. */
#define MAX_AUGMENTATION 16
/* and instructions of some dozen bytes */
#define MAX_CIE_PROGRAM 512

/* Length and id: what stands before the part in which CIEs and FDEs differ. */
struct head {
	struct cfi_reader body; /* behind the id */
	size_t cie;		/* of an FDE: offset of its CIE */
	bool is_cie;
};

/*
 * Moves *offset behind the entry. CFI_ENTRY_END: .eh_frame's terminator, or the section's end.
 * An id takes 4 bytes in .eh_frame even when the length is one of 64 bits.
 */
static enum cfi_entry read_head(const struct cfi_section *section, size_t *offset,
				struct head *ret_head)
{
	size_t id_bytes = 4, id_offset;
	uint64_t length, id;
	struct cfi_reader r;

	*ret_head = (struct head){ .is_cie = false };
	if (*offset >= section->len)
		return CFI_ENTRY_END;
	r = (struct cfi_reader){ section->data + *offset, section->data + section->len, false };
	length = cfi_get(&r, 4);
	if (length == DWARF64_LENGTH) {
		length = cfi_get(&r, 8);
		id_bytes = section->is_eh ? 4 : 8;
	}
	if (!r.failed && length == 0) {
		*offset = (size_t)(r.at - section->data);
		/* Some linkers leave the terminators of several inputs in .debug_frame. */
		return section->is_eh ? CFI_ENTRY_END : CFI_ENTRY_CIE;
	}
	id_offset = (size_t)(r.at - section->data);
	ret_head->body = cfi_get_block(&r, length);
	*offset = (size_t)(r.at - section->data);
	if (r.failed)
		return CFI_ENTRY_DAMAGED;
	id = cfi_get(&ret_head->body, id_bytes);
	if (ret_head->body.failed)
		return CFI_ENTRY_DAMAGED;
	if (section->is_eh) {
		ret_head->is_cie = id == 0;
		ret_head->cie = id_offset - (size_t)id;
		if (id > id_offset)
			return CFI_ENTRY_DAMAGED;
	} else {
		ret_head->is_cie = id == (id_bytes == 4 ? UINT32_MAX : UINT64_MAX);
		ret_head->cie = (size_t)id;
	}
	return ret_head->is_cie ? CFI_ENTRY_CIE : CFI_ENTRY_FDE;
}

static uint64_t get_format(struct cfi_reader *r, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_get(r, 8);
	case DW_EH_PE_udata4:
		return cfi_get(r, 4);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cfi_get(r, 4);
	case DW_EH_PE_udata2:
		return cfi_get(r, 2);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cfi_get(r, 2);
	case DW_EH_PE_uleb128:
		return cfi_get_uleb(r);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_get_sleb(r);
	default:
		cfi_fail(r);
		return 0;
	}
}

uint64_t cfi_get_pointer(const struct cfi_section *section, struct cfi_reader *r, uint8_t encoding)
{
	uint64_t here = section->addr + (uint64_t)(r->at - section->data);

	if (encoding == DW_EH_PE_aligned) {
		(void)cfi_get_block(r, -here % ADDRESS_BYTES); /* sets r->failed itself */
		return cfi_get(r, ADDRESS_BYTES);
	}
	/* Indirect pointers are the dynamic linker's: code has none. */
	if (encoding == DW_EH_PE_omit || (encoding & DW_EH_PE_indirect)) {
		cfi_fail(r);
		return 0;
	}
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_textrel: /* the text base is 0 in 64-bit objects */
		return get_format(r, encoding);
	case DW_EH_PE_pcrel:
		return here + get_format(r, encoding);
	case DW_EH_PE_datarel:
		return section->data_base + get_format(r, encoding);
	default:
		cfi_fail(r);
		return 0;
	}
}

/* Passes over a pointer, of whatever base. */
static void skip_pointer(const struct cfi_section *section, struct cfi_reader *r, uint8_t encoding)
{
	if (encoding == DW_EH_PE_aligned)
		(void)cfi_get_pointer(section, r, encoding); /* only its length matters */
	else if (encoding != DW_EH_PE_omit)
		(void)get_format(r, encoding);
}

/*
 * What the letters behind 'z' say of the augmentation data. One that is not known ends it: where
 * the instructions start is known from the data's length.
 */
static void read_augmentation(const struct cfi_section *section, const char *letters,
			      struct cfi_reader *r, struct cfi_cie *cie)
{
	struct cfi_reader data = cfi_get_block(r, cfi_get_uleb(r));

	cie->has_size = true;
	for (; *letters; letters++) {
		if (*letters == 'R')
			cie->pointer_encoding = cfi_get_u8(&data);
		else if (*letters == 'L')
			(void)cfi_get_u8(&data); /* the encoding of exception tables' addresses */
		else if (*letters == 'P')
			skip_pointer(section, &data, cfi_get_u8(&data));
		else if (*letters != 'S' && *letters != 'B')
			break;
	}
	if (data.failed)
		cfi_fail(r);
}

bool cfi_read_cie(const struct cfi_section *section, size_t offset, struct cfi_cie *ret_cie)
{
	struct cfi_cie cie = { .pointer_encoding = DW_EH_PE_absptr };
	const char *letters;
	struct cfi_reader r;
	struct head head;
	uint8_t version;
	size_t len;

	if (offset >= section->len || read_head(section, &offset, &head) != CFI_ENTRY_CIE ||
	    !head.is_cie)
		return false;
	r = head.body;
	version = cfi_get_u8(&r);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = (const char *)r.at;
	len = strnlen(letters, cfi_left(&r) < MAX_AUGMENTATION ? cfi_left(&r) : MAX_AUGMENTATION);
	if (len == MAX_AUGMENTATION)
		return false;
	(void)cfi_get_block(&r, len + 1); /* sets r.failed where there is no NUL */
	if (!r.failed && strncmp(letters, "eh", 2) == 0) {
		(void)cfi_get(&r, ADDRESS_BYTES); /* GCC 2's exception table */
		letters += 2;
	}
	if (version == 4 && cfi_get_u8(&r) != ADDRESS_BYTES)
		return false;
	if (version == 4)
		cie.segment_size = cfi_get_u8(&r);
	cie.code_align = cfi_get_uleb(&r);
	cie.data_align = cfi_get_sleb(&r);
	cie.ra_register = version == 1 ? cfi_get_u8(&r) : cfi_get_uleb(&r);
	if (r.failed)
		return false;
	if (*letters == 'z')
		read_augmentation(section, letters + 1, &r, &cie);
	else if (*letters)
		return false;
	cie.program = r;
	*ret_cie = cie;
	return !r.failed && cfi_left(&r) <= MAX_CIE_PROGRAM;
}

enum cfi_entry cfi_next_entry(const struct cfi_section *section, size_t *offset,
			      struct cfi_fde *ret_fde)
{
	struct cfi_reader *r;
	struct cfi_fde fde;
	struct cfi_cie cie;
	enum cfi_entry kind;
	struct head head;
	uint64_t len;

	kind = read_head(section, offset, &head);
	if (kind != CFI_ENTRY_FDE)
		return kind;
	if (!cfi_read_cie(section, head.cie, &cie))
		return CFI_ENTRY_DAMAGED;
	r = &head.body;
	(void)cfi_get_block(r, cie.segment_size); /* sets r->failed itself */
	fde.start = cfi_get_pointer(section, r, cie.pointer_encoding);
	len = get_format(r, cie.pointer_encoding == DW_EH_PE_aligned ? DW_EH_PE_absptr :
								       cie.pointer_encoding);
	if (cie.has_size)
		(void)cfi_get_block(r, cfi_get_uleb(r)); /* where the exception table is */
	if (r->failed || len > UINT64_MAX - fde.start)
		return CFI_ENTRY_DAMAGED;
	if (len == 0)
		return CFI_ENTRY_CIE;
	fde.end = fde.start + len;
	fde.cie = head.cie;
	fde.program = *r;
	*ret_fde = fde;
	return CFI_ENTRY_FDE;
}
