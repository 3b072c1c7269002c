/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind rows as the bytes of a file of elf/cfi_cache.h. No state. */
#ifndef MEMTRACED_ELF_CFI_CODEC_H
#define MEMTRACED_ELF_CFI_CODEC_H

#include "elf/cfi_rows.h"

struct elf_file;
struct stat;

/* Which file it was; all zero: none. */
struct cfi_identity {
	uint64_t dev, ino, size;
	uint64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
};

/* What rows are of, and which. Compared as bytes: no padding, and zero behind the build ID. */
struct cfi_key {
	struct cfi_identity file, debug;
	uint8_t build_id[32];
	uint32_t build_id_len;
	uint32_t content; /* checksum of a part that changes when functions do */
	uint32_t pruned;
	uint32_t pad;
};

struct cfi_identity cfi_identity_of(const struct stat *st);

/* The key of what cfi_file_rows() makes of the same arguments. */
void cfi_key_of(struct elf_file *file, struct elf_file *debug, bool pruned,
		struct cfi_key *ret_key);

/* *ret_bytes is the caller's to free. 0 or -ENOMEM. */
int cfi_encode(const struct cfi_rows *rows, const struct cfi_key *key, uint8_t **ret_bytes,
	       size_t *ret_len);

/*
 * 0, or -EBADMSG: damaged, or of another version; -ESTALE: sound, but of another key; -ENOMEM.
 * What is given back keeps all promises of cfi_rows.h, whoever wrote the bytes.
 */
int cfi_decode(const uint8_t *bytes, size_t len, const struct cfi_key *key,
	       struct cfi_rows **ret_rows);

#endif
