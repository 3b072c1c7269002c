/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rows kept in a folder from run to run. A file of it is taken only when it belongs to the
 * user that runs us, when no other may write to it or to the folder, and when its checksum and
 * its key are right; anything else counts as not there, and is compiled anew. Several processes may
 * use one folder. One thread at a time for a cfi_cache.
 */
#ifndef MEMTRACED_ELF_CFI_CFI_CACHE_H
#define MEMTRACED_ELF_CFI_CFI_CACHE_H

#include "elf/cfi/cfi_rows.h"

struct elf_file;
struct stat;

/* Which file it was. */
struct cfi_identity {
	uint64_t dev, ino, size;
	uint64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
};

/* What rows are of, and which. Compared as bytes: no padding, and zero behind the build ID. */
struct cfi_key {
	struct cfi_identity file;
	uint8_t build_id[32];
	uint32_t build_id_len;
	uint32_t content; /* checksum of a part that changes when functions do */
	uint32_t pruned;
	uint32_t pad;
};

struct cfi_identity cfi_identity_of(const struct stat *st);

/* The key of what cfi_file_rows() makes of the same arguments. */
void cfi_key_of(struct elf_file *file, bool pruned, struct cfi_key *ret_key);

/* Rows as the bytes of a file of the cache. *ret_bytes is the caller's to free. 0 or -ENOMEM. */
int cfi_encode(const struct cfi_rows *rows, const struct cfi_key *key, uint8_t **ret_bytes,
	       size_t *ret_len);

/*
 * 0, or -EBADMSG: damaged, or of another version; -ESTALE: sound, but of another key; -ENOMEM.
 * What is given back keeps all promises of cfi_rows.h, whatever the bytes are.
 */
int cfi_decode(const uint8_t *bytes, size_t len, const struct cfi_key *key,
	       struct cfi_rows **ret_rows);

/*
 * What must be known of a file before its rows are needed: by which key they are kept, and where
 * its code lies. Plain data, which outlives the file's being open.
 */

struct cfi_facts {
	struct cfi_key key; /* of rows for any instruction: not pruned */
	struct abi_unwind_segment segments[ABI_UNWIND_SEGMENTS];
	uint32_t n_segments;
};

void cfi_facts_read(struct elf_file *file, struct cfi_facts *ret_facts);

struct cfi_cache;

#define CFI_CACHE_BYTES (256UL << 20)

struct cfi_cache_counts {
	uint32_t hits;
	uint32_t misses;
	uint32_t refused; /* misses: there was a file, but damaged, of another version or owner */
};

/*
 * `path` NULL: /var/cache/memtraced/unwind of root, else memtraced/unwind in $XDG_CACHE_HOME or
 * ~/.cache. The folder is made where it is missing. Of more than `max_bytes`, the files that were
 * not used for the longest time are removed. 0, or -EPERM: the folder is not ours alone; -ENOENT,
 * -ENOTDIR, -ELOOP (a link), -EROFS, ...: there is no such place; -ENOMEM.
 */
int cfi_cache_open(const char *path, uint64_t max_bytes, struct cfi_cache **ret_cache);
void cfi_cache_free(struct cfi_cache *cache); /* NULL is legal */
DEFINE_CLEANUP(struct cfi_cache, cfi_cache_free)

/* 0, or -ENOENT: not there, or not to be taken; -ENOMEM. */
int cfi_cache_get(struct cfi_cache *cache, const struct cfi_key *key, struct cfi_rows **ret_rows);

/*
 * 0, or -EAGAIN: the file has just been changed, so that another change may leave its times as they
 * are; -EFBIG: larger than a quarter of the cache; or what the file system says.
 */
int cfi_cache_put(struct cfi_cache *cache, const struct cfi_key *key, const struct cfi_rows *rows);

const struct cfi_cache_counts *cfi_cache_counts(const struct cfi_cache *cache);

#endif
