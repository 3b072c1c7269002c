/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi/cfi_cache.h"

#include "base/hashmap.h"
#include "base/private_folder.h"
#include "base/vec.h"
#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

/* To be raised when the same file gets other rows, or rows mean something else. */
#define VERSION 10
#define CONTENT_BYTES (1UL << 20)

static const char magic[8] = { 'M', 'T', 'U', 'N', 'W', 'I', 'N', 'D' };

struct header {
	char magic[sizeof(magic)];
	uint32_t version;
	uint32_t checksum; /* of all that follows */
	struct cfi_key key;
	uint64_t n_rows, n_rules;
	uint32_t lost[CFI_LOSSES];
};

static_assert(sizeof(struct cfi_key) == 104, "the key has no padding");
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

void cfi_key_of(struct elf_file *file, bool pruned, struct cfi_key *ret_key)
{
	struct cfi_key key = { .file = cfi_identity_of(elf_file_stat(file)), .pruned = pruned };
	const uint8_t *id;
	size_t len = elf_file_build_id(file, &id);

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

void cfi_facts_read(struct elf_file *file, struct cfi_facts *ret_facts)
{
	*ret_facts = (struct cfi_facts){ 0 };
	cfi_key_of(file, false, &ret_facts->key);
	/* -E2BIG: those that there is room for */
	(void)cfi_file_segments(file, ret_facts->segments, &ret_facts->n_segments);
}

/* A file's times may stay the same when it is changed again within a tick, or a second on some. */
#define SETTLED_S 2
/* How old a use may get in a file's time before it is written down again. */
#define USED_S (24 * 60 * 60)
/* The room is looked at each time that a part of it has been written, and at the end. */
#define ROOM_PARTS 16
#define BLOCK_BYTES 4096 /* of most file systems */
#define NAME_CHARS 37	 /* 32 digits, ".rows" */

struct cfi_cache {
	int dir_fd;
	uint64_t max_bytes;
	uint64_t unchecked_bytes; /* written since the room was last looked at */
	struct cfi_cache_counts counts;
};

struct entry {
	char name[NAME_CHARS + 1];
	struct timespec used;
	uint64_t bytes;
};

int cfi_cache_open(const char *path, uint64_t max_bytes, struct cfi_cache **ret_cache)
{
	_cleanup_close_ int fd = -1;
	char usual[PATH_MAX];
	struct cfi_cache *cache;

	if (!path && private_folder_path("unwind", usual) < 0)
		return -ENOENT;
	fd = private_folder_open(path ? path : usual);
	if (fd < 0)
		return fd;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	cache->dir_fd = TAKE_FD(fd);
	cache->max_bytes = max_bytes;
	*ret_cache = cache;
	return 0;
}

/* Equal names of different keys cost a compilation each time: the key is in the file, too. */
static void name_of(const struct cfi_key *key, char name[NAME_CHARS + 1])
{
	snprintf(name, NAME_CHARS + 1, "%016llx%016llx.rows",
		 (unsigned long long)hash_bytes(key, sizeof(*key), 1),
		 (unsigned long long)hash_bytes(key, sizeof(*key), 2));
}

/* The whole file, to be freed. 0, -EPERM: not ours, or no plain file; or what open() says. */
static int read_whole(struct cfi_cache *cache, const char *name, uint8_t **ret_bytes,
		      size_t *ret_len)
{
	struct stat st;
	_cleanup_close_ int fd = private_folder_open_file(cache->dir_fd, name, &st);
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t done = 0, len;

	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size > cache->max_bytes)
		return -EPERM;
	len = (size_t)st.st_size;
	bytes = malloc(len + 1);
	if (!bytes)
		return -ENOMEM;
	while (done < len) {
		ssize_t n = pread(fd, bytes + done, len - done, (off_t)done);

		if (n <= 0)
			return -EIO;
		done += (size_t)n;
	}
	if (time(NULL) - st.st_mtim.tv_sec > USED_S)
		(void)futimens(fd, NULL); /* else it goes sooner than others */
	*ret_bytes = TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

int cfi_cache_get(struct cfi_cache *cache, const struct cfi_key *key, struct cfi_rows **ret_rows)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	char name[NAME_CHARS + 1];
	size_t len = 0;
	int r;

	name_of(key, name);
	r = read_whole(cache, name, &bytes, &len);
	if (r == 0)
		r = cfi_decode(bytes, len, key, ret_rows);
	if (r == 0) {
		cache->counts.hits++;
		return 0;
	}
	cache->counts.misses++;
	if (r != -ENOENT && r != -ENOMEM)
		cache->counts.refused++;
	return r == -ENOMEM ? r : -ENOENT;
}

static bool is_entry_name(const char *name)
{
	return strlen(name) == NAME_CHARS && strspn(name, "0123456789abcdef") == 32 &&
	       strcmp(name + 32, ".rows") == 0;
}

static int entry_by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Removes what was not used for the longest time, until the rest fits. */
static void shrink_cache(struct cfi_cache *cache)
{
	_cleanup_closedir_ DIR *dir = NULL;
	VEC(struct entry) entries = { 0 };
	int fd = openat(cache->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *found;
	uint64_t total = 0;

	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		cleanup_close(&fd);
		return;
	}
	while ((found = readdir(dir))) {
		struct entry entry;
		struct stat st;

		if (!is_entry_name(found->d_name) ||
		    fstatat(cache->dir_fd, found->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(entry.name, found->d_name, NAME_CHARS + 1);
		entry.used = st.st_mtim;
		entry.bytes = (uint64_t)st.st_blocks * 512;
		total += entry.bytes;
		if (vec_push(&entries, entry) < 0)
			break;
	}
	if (total > cache->max_bytes && entries.len)
		vec_sort(&entries, entry_by_use);
	for (size_t i = 0; i < entries.len && total > cache->max_bytes; i++) {
		(void)unlinkat(cache->dir_fd, entries.data[i].name, 0); /* another may have */
		total -= entries.data[i].bytes;
	}
	vec_done(&entries);
	cache->unchecked_bytes = 0;
}

void cfi_cache_free(struct cfi_cache *cache)
{
	if (!cache)
		return;
	if (cache->unchecked_bytes)
		shrink_cache(cache);
	close(cache->dir_fd);
	free(cache);
}

int cfi_cache_put(struct cfi_cache *cache, const struct cfi_key *key, const struct cfi_rows *rows)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	char name[NAME_CHARS + 1];
	size_t len = 0;
	int r;

	if (time(NULL) - (time_t)key->file.ctime_s < SETTLED_S)
		return -EAGAIN;
	r = cfi_encode(rows, key, &bytes, &len);
	if (r < 0)
		return r;
	if (len > cache->max_bytes / 4)
		return -EFBIG;
	name_of(key, name);
	r = private_folder_put(cache->dir_fd, name, bytes, len);
	if (r < 0)
		return r;
	cache->unchecked_bytes += (len + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
	if (cache->unchecked_bytes > cache->max_bytes / ROOM_PARTS)
		shrink_cache(cache);
	return 0;
}

const struct cfi_cache_counts *cfi_cache_counts(const struct cfi_cache *cache)
{
	return &cache->counts;
}
