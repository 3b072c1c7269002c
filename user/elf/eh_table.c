/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats: Linux Standard Base 5.0 core, chapter 10.6 (.eh_frame, .eh_frame_hdr); Itanium C++ ABI
 * exception handling tables (LSDA).
 */
#include "elf/eh_table.h"

#include "elf/elf_file.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define HDR_BYTES 12 /* version, three encodings, .eh_frame's address, number of entries */
#define HDR_ENTRY_BYTES 8
/* Call sites that are looked at for one file; an allocator has some hundreds. */
#define MAX_CALL_SITES 1000000
#define MAX_AUGMENTATION 16

struct eh_table {
	struct elf_file *file;
	uint64_t hdr;
	uint32_t n;	    /* entries of the search table */
	uint32_t looked_at; /* call sites, over the life of the table */
};

/* A function's frame description, as far as it matters here. */
struct fde {
	uint64_t start, end;
	uint64_t lsda; /* 0: none */
};

/* Reads on from an address; a read that fails makes all later ones fail, and they give 0. */
struct cursor {
	struct elf_file *file;
	uint64_t at;
	bool failed;
};

static void get_bytes(struct cursor *c, void *buf, size_t len)
{
	if (c->failed || elf_file_read(c->file, c->at, buf, len) != len) {
		memset(buf, 0, len);
		c->failed = true;
		return;
	}
	c->at += len;
}

static uint8_t get_u8(struct cursor *c)
{
	uint8_t byte;

	get_bytes(c, &byte, 1);
	return byte;
}

static uint32_t get_u32(struct cursor *c)
{
	uint32_t word;

	get_bytes(c, &word, sizeof(word));
	return word;
}

static uint64_t get_leb128(struct cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = get_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->failed && shift < 70);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~0ULL << shift;
	return value;
}

static uint64_t get_format(struct cursor *c, uint8_t encoding)
{
	int16_t half;
	uint64_t xword;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		get_bytes(c, &xword, sizeof(xword));
		return xword;
	case DW_EH_PE_udata4:
		return get_u32(c);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)get_u32(c);
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		get_bytes(c, &half, sizeof(half));
		return (encoding & DW_EH_PE_signed) ? (uint64_t)half : (uint16_t)half;
	case DW_EH_PE_uleb128:
		return get_leb128(c, false);
	case DW_EH_PE_sleb128:
		return get_leb128(c, true);
	default:
		c->failed = true;
		return 0;
	}
}

/* A pointer; 0 is no pointer in any encoding. */
static uint64_t get_pointer(struct cursor *c, uint8_t encoding)
{
	uint64_t base = c->at, value;

	if (encoding == DW_EH_PE_omit)
		return 0;
	value = get_format(c, encoding);
	if (value == 0 || c->failed)
		return 0;
	switch (encoding & 0x70) {
	case 0:
		return value;
	case DW_EH_PE_pcrel:
		return base + value;
	default:
		c->failed = true;
		return 0;
	}
}

int eh_table_new(struct elf_file *file, struct eh_table **ret_table)
{
	struct eh_table *table = calloc(1, sizeof(*table));
	struct cursor c = { .file = file };
	uint8_t encodings[4];

	if (!table)
		return -ENOMEM;
	table->file = file;
	*ret_table = table;
	if (elf_file_eh_frame_hdr(file, &table->hdr) < 0)
		return 0;
	c.at = table->hdr;
	get_bytes(&c, encodings, sizeof(encodings));
	if (c.failed || encodings[0] != 1 || encodings[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
	    encodings[2] != DW_EH_PE_udata4 || encodings[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return 0;
	(void)get_u32(&c); /* .eh_frame's address: the entries lead there */
	table->n = get_u32(&c);
	return 0;
}

void eh_table_free(struct eh_table *table)
{
	free(table);
}

/* Entry `i` of the search table: the address of the function and of its FDE. */
static bool entry_at(const struct eh_table *table, uint32_t i, uint64_t *ret_start,
		     uint64_t *ret_fde)
{
	struct cursor c = { .file = table->file,
			    .at = table->hdr + HDR_BYTES + (uint64_t)i * HDR_ENTRY_BYTES };

	*ret_start = table->hdr + (uint64_t)(int32_t)get_u32(&c);
	*ret_fde = table->hdr + (uint64_t)(int32_t)get_u32(&c);
	return !c.failed;
}

/* The last entry that starts at or below `vaddr`. */
static bool entry_below(const struct eh_table *table, uint64_t vaddr, uint64_t *ret_start,
			uint64_t *ret_fde)
{
	uint32_t low = 0, high = table->n;
	uint64_t start, fde;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (!entry_at(table, mid, &start, &fde))
			return false;
		if (start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && entry_at(table, low - 1, ret_start, ret_fde);
}

bool eh_table_starts_function(const struct eh_table *table, uint64_t vaddr)
{
	uint64_t start, fde;

	return entry_below(table, vaddr, &start, &fde) && start == vaddr;
}

/* How the FDEs of the CIE at `vaddr` encode their addresses. False: unknown form. */
static bool read_cie(const struct eh_table *table, uint64_t vaddr, uint8_t *ret_pointer,
		     uint8_t *ret_lsda, bool *ret_sized)
{
	struct cursor c = { .file = table->file, .at = vaddr };
	char augmentation[MAX_AUGMENTATION] = "";
	uint32_t length = get_u32(&c), id = get_u32(&c);
	uint8_t version = get_u8(&c);
	size_t n = 0;

	*ret_pointer = DW_EH_PE_absptr;
	*ret_lsda = DW_EH_PE_omit;
	if (length == 0 || length == UINT32_MAX || id != 0 || (version != 1 && version != 3))
		return false;
	do {
		augmentation[n] = (char)get_u8(&c);
	} while (augmentation[n] && ++n < MAX_AUGMENTATION);
	if (n == MAX_AUGMENTATION)
		return false;
	(void)get_leb128(&c, false); /* code alignment */
	(void)get_leb128(&c, true);  /* data alignment */
	if (version == 1)
		(void)get_u8(&c); /* return address register */
	else
		(void)get_leb128(&c, false);
	*ret_sized = augmentation[0] == 'z';
	if (!*ret_sized)
		return augmentation[0] == '\0' && !c.failed;
	(void)get_leb128(&c, false); /* length of what follows */
	for (const char *p = augmentation + 1; *p && !c.failed; p++) {
		uint8_t encoding;

		if (*p == 'R') {
			*ret_pointer = get_u8(&c);
		} else if (*p == 'L') {
			*ret_lsda = get_u8(&c);
		} else if (*p == 'P') {
			encoding = get_u8(&c);
			(void)get_format(&c, encoding);
		} else if (*p != 'S' && *p != 'B') {
			return false;
		}
	}
	return !c.failed;
}

static bool read_fde(const struct eh_table *table, uint64_t vaddr, struct fde *ret_fde)
{
	struct cursor c = { .file = table->file, .at = vaddr };
	uint32_t length = get_u32(&c);
	uint64_t id_at = c.at;
	uint32_t cie_distance = get_u32(&c);
	uint8_t pointer, lsda;
	bool is_sized;

	if (c.failed || length == 0 || length == UINT32_MAX || cie_distance == 0 ||
	    !read_cie(table, id_at - cie_distance, &pointer, &lsda, &is_sized))
		return false;
	ret_fde->start = get_pointer(&c, pointer);
	ret_fde->end = ret_fde->start + get_format(&c, pointer);
	ret_fde->lsda = 0;
	if (is_sized && get_leb128(&c, false) > 0)
		ret_fde->lsda = get_pointer(&c, lsda);
	return !c.failed;
}

uint64_t eh_table_landing_pad(struct eh_table *table, uint64_t vaddr)
{
	struct cursor c = { .file = table->file };
	uint64_t start, fde_at, pad_base, sites_end;
	uint8_t encoding;
	struct fde fde;

	if (!entry_below(table, vaddr, &start, &fde_at) || !read_fde(table, fde_at, &fde) ||
	    fde.lsda == 0 || vaddr < fde.start || vaddr >= fde.end)
		return 0;
	c.at = fde.lsda;
	encoding = get_u8(&c);
	pad_base = encoding == DW_EH_PE_omit ? fde.start : get_pointer(&c, encoding);
	if (get_u8(&c) != DW_EH_PE_omit)
		(void)get_leb128(&c, false); /* distance of the type table */
	encoding = get_u8(&c);
	sites_end = get_leb128(&c, false);
	sites_end += c.at;
	while (!c.failed && c.at < sites_end && table->looked_at++ < MAX_CALL_SITES) {
		uint64_t from = get_format(&c, encoding);
		uint64_t size = get_format(&c, encoding);
		uint64_t pad = get_format(&c, encoding);

		(void)get_leb128(&c, false); /* action */
		if (!c.failed && vaddr - fde.start - from < size)
			return pad ? pad_base + pad : 0;
	}
	return 0;
}
