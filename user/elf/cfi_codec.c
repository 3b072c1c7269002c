/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_codec.h"

#include "elf/elf_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* To be raised when the same file gets other rows, or rows mean something else. */
#define VERSION 9
#define CONTENT_BYTES (1UL << 20)

static const char magic[8] = "MTUNWIND";

struct header {
	char magic[sizeof(magic)];
	uint32_t version;
	uint32_t checksum; /* of all that follows */
	struct cfi_key key;
	uint64_t n_rows, n_rules;
	uint32_t lost[CFI_LOSSES];
};

static_assert(sizeof(struct cfi_key) == 160, "the key has no padding");
static_assert(sizeof(struct header) % 8 == 0, "what follows the header is aligned");

struct cfi_identity cfi_identity_of(const struct stat *st)
{
	return (struct cfi_identity){ .dev = st->st_dev,
				      .ino = st->st_ino,
				      .size = (uint64_t)st->st_size,
				      .mtime_s = (uint64_t)st->st_mtim.tv_sec,
				      .mtime_ns = (uint64_t)st->st_mtim.tv_nsec,
				      .ctime_s = (uint64_t)st->st_ctim.tv_sec,
				      .ctime_ns = (uint64_t)st->st_ctim.tv_nsec };
}

/* Of the functions' addresses (.eh_frame_hdr), or else of the first code. */
static uint32_t content_of(struct elf_file *file)
{
	uint8_t buf[4096];
	struct elf_text text;
	uint64_t at, left;
	uLong sum = crc32(0, NULL, 0);

	if (elf_file_eh_frame_hdr(file, &at) < 0)
		at = elf_file_texts(file, &text, 1) ? text.vaddr : 0;
	left = elf_file_left(file, at);
	if (left > CONTENT_BYTES)
		left = CONTENT_BYTES;
	while (left) {
		size_t n = elf_file_read(file, at, buf, left < sizeof(buf) ? left : sizeof(buf));

		if (n == 0)
			break;
		sum = crc32_z(sum, buf, n);
		at += n;
		left -= n;
	}
	return (uint32_t)sum;
}

void cfi_key_of(struct elf_file *file, struct elf_file *debug, bool pruned, struct cfi_key *ret_key)
{
	struct cfi_key key = { .file = cfi_identity_of(elf_file_stat(file)), .pruned = pruned };
	const uint8_t *id;
	size_t len = elf_file_build_id(file, &id);

	if (debug)
		key.debug = cfi_identity_of(elf_file_stat(debug));
	key.build_id_len = (uint32_t)len;
	if (len > sizeof(key.build_id))
		len = sizeof(key.build_id);
	if (len)
		memcpy(key.build_id, id, len);
	key.content = content_of(file);
	*ret_key = key;
}

static uint32_t checksum_of(const uint8_t *bytes, size_t len)
{
	size_t skip = offsetof(struct header, key);

	return (uint32_t)crc32_z(crc32(0, NULL, 0), bytes + skip, len - skip);
}

int cfi_encode(const struct cfi_rows *rows, const struct cfi_key *key, uint8_t **ret_bytes,
	       size_t *ret_len)
{
	size_t rows_len = rows->n_rows * sizeof(*rows->rows);
	size_t rules_len = rows->n_rules * sizeof(*rows->rules);
	size_t len = sizeof(struct header) + rows_len + rules_len;
	struct header header = {
		.version = VERSION, .key = *key, .n_rows = rows->n_rows, .n_rules = rows->n_rules
	};
	uint8_t *bytes = malloc(len);

	if (!bytes)
		return -ENOMEM;
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.lost, rows->lost, sizeof(header.lost));
	memcpy(bytes + sizeof(header), rows->rows, rows_len);
	memcpy(bytes + sizeof(header) + rows_len, rows->rules, rules_len);
	memcpy(bytes, &header, sizeof(header));
	header.checksum = checksum_of(bytes, len);
	memcpy(bytes, &header, sizeof(header));
	*ret_bytes = bytes;
	*ret_len = len;
	return 0;
}

static bool rows_are_sound(const struct cfi_rows *rows)
{
	if (rows->rows[0].pc != 0 || rows->rules[0].kind != ABI_UNWIND_NONE)
		return false;
	for (size_t i = 0; i < rows->n_rows; i++)
		if (rows->rows[i].rule >= rows->n_rules || rows->rows[i].pad ||
		    (i && (rows->rows[i].pc <= rows->rows[i - 1].pc ||
			   rows->rows[i].rule == rows->rows[i - 1].rule)))
			return false;
	for (size_t i = 0; i < rows->n_rules; i++)
		if (rows->rules[i].kind > ABI_UNWIND_UNSUPPORTED ||
		    rows->rules[i].bp > ABI_UNWIND_BP_AT_BP)
			return false;
	return true;
}

/* A copy of `n` things of `size` bytes, of which there is one at least; NULL: no memory. */
static void *copy_of(const uint8_t *bytes, size_t n, size_t size)
{
	void *copy = malloc(n * size);

	if (copy)
		memcpy(copy, bytes, n * size);
	return copy;
}

int cfi_decode(const uint8_t *bytes, size_t len, const struct cfi_key *key,
	       struct cfi_rows **ret_rows)
{
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	struct header header;
	size_t left;

	if (len < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	left = len - sizeof(header);
	if (memcmp(header.magic, magic, sizeof(magic)) != 0 || header.version != VERSION ||
	    header.n_rows == 0 || header.n_rules == 0 || header.n_rules > ABI_UNWIND_RULES ||
	    header.n_rows > left / sizeof(*rows->rows) ||
	    left != header.n_rows * sizeof(*rows->rows) + header.n_rules * sizeof(*rows->rules) ||
	    header.checksum != checksum_of(bytes, len))
		return -EBADMSG;
	if (memcmp(&header.key, key, sizeof(*key)) != 0)
		return -ESTALE;
	rows = calloc(1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	bytes += sizeof(header);
	rows->n_rows = header.n_rows;
	rows->n_rules = header.n_rules;
	rows->pruned = key->pruned;
	memcpy(rows->lost, header.lost, sizeof(rows->lost));
	rows->rows = copy_of(bytes, rows->n_rows, sizeof(*rows->rows));
	rows->rules = copy_of(bytes + rows->n_rows * sizeof(*rows->rows), rows->n_rules,
			      sizeof(*rows->rules));
	if (!rows->rows || !rows->rules)
		return -ENOMEM;
	if (!rows_are_sound(rows))
		return -EBADMSG;
	*ret_rows = TAKE_PTR(rows);
	return 0;
}
