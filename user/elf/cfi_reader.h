/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads numbers of DWARF off a buffer. A read past the end makes it and all later ones fail, and
 * they give 0. Header only.
 */
#ifndef MEMTRACED_ELF_CFI_READER_H
#define MEMTRACED_ELF_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#endif
