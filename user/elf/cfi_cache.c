/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/cfi_cache.h"

#include "base/hashmap.h"
#include "base/private_folder.h"
#include "base/vec.h"
#include "elf/cfi_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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
static void shrink(struct cfi_cache *cache)
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
		qsort(entries.data, entries.len, sizeof(struct entry), entry_by_use);
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
		shrink(cache);
	close(cache->dir_fd);
	free(cache);
}

int cfi_cache_put(struct cfi_cache *cache, const struct cfi_key *key, const struct cfi_rows *rows)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	char name[NAME_CHARS + 1];
	size_t len = 0;
	int r;

	if (time(NULL) - (time_t)key->file.ctime_s < SETTLED_S ||
	    time(NULL) - (time_t)key->debug.ctime_s < SETTLED_S)
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
		shrink(cache);
	return 0;
}

int cfi_cache_rows(struct cfi_cache *cache, struct elf_file *file, struct elf_file *debug,
		   bool pruned, struct cfi_rows **ret_rows)
{
	struct cfi_key key;
	int r;

	if (!cache)
		return cfi_file_rows(file, debug, pruned, ret_rows);
	cfi_key_of(file, debug, pruned, &key);
	r = cfi_cache_get(cache, &key, ret_rows);
	if (r != -ENOENT)
		return r;
	r = cfi_file_rows(file, debug, pruned, ret_rows);
	if (r == 0 && cfi_cache_put(cache, &key, *ret_rows) < 0)
		cache->counts.not_kept++;
	return r;
}

const struct cfi_cache_counts *cfi_cache_counts(const struct cfi_cache *cache)
{
	return &cache->counts;
}
